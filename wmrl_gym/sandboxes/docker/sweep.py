"""Containers that nobody waits for any more.

A container bears the directory of its owner, whose lock tells whether the owner lives, and a
deadline, after which its job has ended whatever happened: that decides where the lock cannot
be looked at (another user's, another machine's).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wmrl_gym.sandboxes.docker.engine import connect, engine_errors
from wmrl_gym.sandboxes.owned import is_held, sweep

if TYPE_CHECKING:
    from docker import DockerClient

_log = logging.getLogger(__name__)

OWNER = "wmrl-gym.owner"
DEADLINE = "wmrl-gym.deadline"
DIRECTORY_NAME = "wmrl-gym-docker-"
"""How the names of owners' directories begin."""


def labels_of(owner: Path, seconds: float) -> dict[str, str]:
    """Labels of a container that is to be gone after `seconds`."""
    return {OWNER: str(owner), DEADLINE: f"{time.time() + seconds:.0f}"}


def is_abandoned(labels: Mapping[str, str], now: float) -> bool:
    """Whether a container with these labels may be removed by anyone."""
    held = is_held(Path(labels[OWNER]))
    if held is not None:
        return not held
    deadline = labels.get(DEADLINE, "")
    return deadline.isdecimal() and int(deadline) < now


def sweep_containers(client: DockerClient) -> list[str]:
    """Remove the containers of dead owners; their ids."""
    found = client.api.containers(all=True, filters={"label": OWNER})
    abandoned = [c["Id"] for c in found if is_abandoned(c["Labels"], time.time())]
    return [name for name in abandoned if _try_remove(client, name)]


def _try_remove(client: DockerClient, container: str) -> bool:
    from docker.errors import APIError

    try:
        return remove(client, container)
    except APIError as error:  # no reason not to run jobs
        _log.warning("container %s is left for the next sweep: %s", container[:12], error)
        return False


def remove_containers_of(client: DockerClient, owner: Path) -> None:
    """Remove every container of `owner`, running or not."""
    for container in client.api.containers(all=True, filters={"label": f"{OWNER}={owner}"}):
        remove(client, container["Id"])


def remove(client: DockerClient, container: str) -> bool:
    """Kill and remove a container by id; whether it was still there to be removed."""
    from docker.errors import APIError

    try:
        client.api.remove_container(container, force=True, v=True)
    except APIError as error:
        if error.status_code not in (404, 409):  # gone already; being removed by another
            raise
        return False
    return True


def sweep_engine() -> list[str]:
    """Remove what dead processes left on the engine, and their directories; what was removed.

    Raises:
        MissingDependencyError: The package `docker` is not installed.
        SandboxUnavailableError: No engine answers, or it fails.
    """
    client = connect()
    try:
        with engine_errors():
            removed = [f"container {name[:12]}" for name in sweep_containers(client)]
    finally:
        client.close()
    # Only now: a directory is what tells that the owner of a container is dead.
    return removed + [f"directory {path}" for path in sweep(DIRECTORY_NAME)]
