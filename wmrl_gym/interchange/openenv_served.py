"""What the server makes a new one of for every session."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
from openenv.core.env_server.types import (  # type: ignore[import-untyped]  # it has no types
    EnvironmentMetadata,
)

import wmrl_gym
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.errors import RunError, SandboxUnavailableError
from wmrl_gym.interchange.openenv_environment import GymAction, GymEnvironment, action_model
from wmrl_gym.interchange.openenv_turns import TakingTurns, Turns
from wmrl_gym.interchange.recording import RecordTrajectories
from wmrl_gym.sandboxes import select_sandbox

_ATTEMPTS, _ATTEMPT_S = 10, 0.2
"""How often, and how far apart, to end what still runs when the server ends."""


class ServedEnvironment:
    """An environment id with its arguments, checked, and the sessions that are open on it.

    Args:
        env_id: Registered id; `"package:Id-v0"` imports the package first.
        kwargs: Arguments of the environment.
        workers: Executions that run at once, over all sessions; at least 1. A session waits
            for its turn, so that its time limits do not depend on what the others do.
        record: File that all episodes are appended to (`RecordTrajectories`), if any.

    Raises:
        RunError: If the environment cannot be made.
        ValueError: If `workers` or `record` is of no use.
    """

    def __init__(
        self,
        env_id: str,
        kwargs: Mapping[str, Any],
        *,
        workers: int,
        record: Path | None = None,
    ) -> None:
        self.env_id = env_id
        self._kwargs = dict(kwargs)
        self._record = record
        self._turns = Turns(workers)
        self._sessions: set[GymEnvironment] = set()
        first = self._first()
        self.action_model: type[GymAction] = action_model(first.action_space)
        self._metadata = EnvironmentMetadata(
            name=env_id,
            description=inspect.getdoc(type(first.unwrapped)) or env_id,
            version=wmrl_gym.__version__,
        )
        first.close()

    def session(self) -> GymEnvironment:
        """A new session, of which nothing is made before its first reset."""
        session = GymEnvironment(self._make, self._metadata, on_close=self._sessions.discard)
        self._sessions.add(session)
        return session

    def close(self) -> None:
        """End the executions that are still running, and close every session."""
        self._turns.end()
        for _ in range(_ATTEMPTS):
            if self._turns.wait_until_free(_ATTEMPT_S):
                break
            # A job that has lost its sandbox is over at once, and its step with it. One that
            # was just about to start when the sandbox was closed needs a second attempt.
            with contextlib.suppress(SandboxUnavailableError, ValueError):
                select_sandbox(str(self._kwargs.get("sandbox", "auto"))).close()
        for session in list(self._sessions):
            session.close()

    def _first(self) -> gym.Env[Any, Any]:
        try:
            return self._make()
        except (gym.error.Error, ImportError, TypeError, ValueError) as error:
            raise RunError(
                f"env={self.env_id} with {self._kwargs} cannot be made: {error}"
            ) from error

    def _make(self) -> gym.Env[Any, Any]:
        env = gym.make(self.env_id, disable_env_checker=True, **self._kwargs)
        base = env.unwrapped
        if isinstance(base, ExecutionEnv):
            base.executor = TakingTurns(base.executor, self._turns)
        return env if self._record is None else RecordTrajectories(env, self._record)
