"""`wmrl-gym serve`: an environment for trainers that speak HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmrl_gym.errors import MissingDependencyError


@dataclass(frozen=True)
class Serve:
    """Serve an environment in the protocol of OpenEnv, until Ctrl-C.

    Each WebSocket connection is a session with an environment of its own. Every client of
    OpenEnv works: client.reset(seed=1, options={"task": "wine-cultivar"}), then
    client.step({"action": "..."}). Give it a message_timeout_s above the time that a step may
    take, its turn among the other sessions included.
    """

    env: str
    """Id of the environment; "package:Id-v0" imports the package first."""
    env_kwargs: tuple[str, ...] = ()
    """Its arguments: key=value, where a value is JSON or else text, or one JSON object."""
    host: str = "127.0.0.1"
    """Address to listen at. Whoever can reach it can run scripts in the sandboxes."""
    port: int = 8000
    """Port to listen at; 0 for a free one."""
    max_sessions: int = 64
    """Sessions at a time."""
    idle_timeout_s: float = 3600.0
    """A session whose client says nothing for so long is closed, in seconds."""
    workers: int | None = None
    """Executions at once, over all sessions; one per usable core if not given."""
    record: Path | None = None
    """File of JSON Lines that every episode is appended to."""

    def __call__(self) -> None:
        """Serve until Ctrl-C."""
        try:
            from wmrl_gym.interchange import openenv_server as server
            from wmrl_gym.interchange.openenv_served import ServedEnvironment
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("wmrl_gym"):
                raise
            raise MissingDependencyError(
                f'the server needs {error.name}: pip install "wmrl-gym[serve]"'
            ) from error
        workers = len(os.sched_getaffinity(0)) if self.workers is None else self.workers
        served = ServedEnvironment(
            self.env, environment_arguments(self.env_kwargs), workers=workers, record=self.record
        )
        app = server.make_app(
            served, max_sessions=self.max_sessions, idle_timeout_s=self.idle_timeout_s
        )
        with server.listen(self.host, self.port) as listener:
            port = listener.getsockname()[1]
            print(f"serving {self.env} at http://{self.host}:{port} (Ctrl-C ends it)", flush=True)
            server.run_until_interrupted(app, served, listener)


def environment_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Arguments of an environment from the command line.

    Args:
        texts: Each is `key=value`, where a value that is no JSON is text, or a JSON object.

    Raises:
        ValueError: If one is neither.
    """
    arguments: dict[str, Any] = {}
    for text in texts:
        arguments.update(_json_object(text) if text.lstrip().startswith("{") else _pair(text))
    return arguments


def _json_object(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise ValueError(f"env_kwargs={text!r} is no JSON object: {error}") from error


def _pair(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError(f"env_kwargs={text!r} is neither key=value nor a JSON object")
    try:
        return {key: json.loads(value)}
    except ValueError:
        return {key: value}
