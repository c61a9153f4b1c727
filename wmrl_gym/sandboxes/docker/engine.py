"""The connection to a Docker engine; the `docker` package is imported here, when it is needed."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wmrl_gym.errors import MissingDependencyError, SandboxUnavailableError

if TYPE_CHECKING:
    from docker import DockerClient

_ANSWER_S = 2.0
"""Time for an engine to show that it is there."""
_WORK_S = 120.0
"""Time for it to do anything; hosts can be busy."""
_CONNECTIONS = 64
"""Kept open, for as many jobs at once; more than that connect anew."""


def connect() -> DockerClient:
    """A client of the engine that `DOCKER_HOST` names, or of the usual one; nothing is pulled.

    Raises:
        MissingDependencyError: The package `docker` is not installed.
        SandboxUnavailableError: No engine answers.
    """
    try:
        import docker
    except ModuleNotFoundError as error:
        if error.name != "docker":
            raise
        raise MissingDependencyError(
            'the back end "docker" needs the package docker: pip install "wmrl-gym[docker]"'
        ) from None
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    try:
        _require_listener(docker.utils.parse_host(host))
        version = _ask_version()
        return docker.from_env(version=version, timeout=_WORK_S, max_pool_size=_CONNECTIONS)
    except (docker.errors.DockerException, OSError) as error:
        raise SandboxUnavailableError(
            f"no Docker engine answers at {host} ({error}); start one, and set DOCKER_HOST if "
            "it is another"
        ) from None


def _require_listener(address: str) -> None:
    """Fail as the system does where nobody listens: the package would not close its socket."""
    path = address.partition("http+unix://")[2]
    if path:
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(_ANSWER_S)
            attempt.connect(path)


def _ask_version() -> str:
    """The version of the interface that the engine speaks, if it answers soon."""
    import docker

    # With a version given the constructor does not connect: it would not close on a failure.
    client = docker.from_env(version=docker.constants.DEFAULT_DOCKER_API_VERSION, timeout=_ANSWER_S)
    try:
        return str(client.api.version(api_version=False)["ApiVersion"])
    finally:
        client.close()


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn what the engine complains about into an error of ours."""
    from docker.errors import DockerException

    try:
        yield
    except DockerException as error:
        raise SandboxUnavailableError(f"the Docker engine: {error}") from error
