"""What is on the engine, seen past the back end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import docker

from wmrl_gym.sandboxes.docker.sweep import OWNER, is_abandoned


@contextlib.contextmanager
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    try:
        yield client
    finally:
        client.close()


def labelled() -> list[dict[str, object]]:
    """All containers that bear our label."""
    with engine() as client:
        return list(client.api.containers(all=True, filters={"label": OWNER}))


def ours_or_abandoned() -> list[dict[str, object]]:
    """Containers that should be gone: others that use the engine now may have theirs."""
    return [c for c in labelled() if is_abandoned(c["Labels"], time.time())]


def wait_for_container(owner: str, timeout_s: float = 30.0) -> str:
    """Id of the running container of `owner`, as soon as there is one."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for container in labelled():
            if container["Labels"][OWNER] == owner and container["State"] == "running":
                return str(container["Id"])
        time.sleep(0.02)
    raise AssertionError(f"no container of {owner} within {timeout_s} s")
