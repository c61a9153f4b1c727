"""One session of the server: a Gymnasium environment behind OpenEnv's interface."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any

import gymnasium as gym
from openenv.core.env_server import (  # type: ignore[import-untyped]  # it has no types
    Action,
    Environment,
    Observation,
    State,
)
from openenv.core.env_server.types import (  # type: ignore[import-untyped]  # it has no types
    EnvironmentMetadata,
)
from pydantic import Field, WithJsonSchema, create_model

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.interchange.json_values import plain_json_value
from wmrl_gym.interchange.openenv_spaces import action_schema, decode_action
from wmrl_gym.outcomes import Status

MakeEnv = Callable[[], gym.Env[Any, Any]]


class GymAction(Action):  # type: ignore[misc]  # the base has no types
    """An action of the environment."""

    action: Any = Field(description="The action: text, a number, or an array as nested lists")


class GymObservation(Observation):  # type: ignore[misc]  # the base has no types
    """What the environment answered.

    `reward` is null after a reset, and for a step whose execution the server failed to carry
    out: such a step has no reward, which is not 0. `done` is `terminated or truncated`.
    """

    observation: Any = Field(description="The observation; arrays are nested lists")
    terminated: bool = Field(default=False, description="The task has ended")
    truncated: bool = Field(default=False, description="A limit has ended the episode")
    info: dict[str, Any] = Field(
        default_factory=dict, description="The environment's info; what is not finite is null"
    )


class GymEnvironment(Environment):  # type: ignore[misc]  # the base has no types
    """A Gymnasium environment that is made at the first reset and closed with the session.

    Args:
        make_env: Makes the environment.
        metadata: What to tell clients about it.
        on_close: Called with the session when it closes.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        make_env: MakeEnv,
        metadata: EnvironmentMetadata,
        *,
        on_close: Callable[[GymEnvironment], None],
    ) -> None:
        super().__init__()
        self._make_env = make_env
        self._metadata = metadata
        self._on_close = on_close
        # The end of the server closes a session from another thread than its own.
        self._lock = threading.RLock()
        self._env: gym.Env[Any, Any] | None = None
        self._closed = False
        self._state = State()
        self._done = True

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        options: dict[str, Any] | None = None,
        **further_options: Any,
    ) -> GymObservation:
        """Start an episode.

        Args:
            seed: Seed of the environment.
            episode_id: Name of the episode; one is made up if it is missing.
            options: Options of the environment's `reset`, such as `{"task": "wine-cultivar"}`.
            further_options: Options too: `reset(task="wine-cultivar")`.

        Raises:
            ValueError: If the environment refuses the seed or the options.
            RuntimeError: If the session has been closed.
        """
        if not isinstance(options, dict | None):
            raise ValueError(f"options={options!r} must be an object of names and values")
        with self._lock:
            return self._reset(seed, episode_id, {**(options or {}), **further_options})

    def _reset(
        self, seed: int | None, episode_id: str | None, options: dict[str, Any]
    ) -> GymObservation:
        observation, info = self._opened().reset(seed=seed, options=options)
        self._state = State(
            episode_id=episode_id or uuid.uuid4().hex,
            step_count=0,
            seed=seed,
            options=options,
            done=False,
        )
        self._done = False
        return GymObservation(
            observation=plain_json_value(observation), info=plain_json_value(info)
        )

    def step(
        self,
        action: GymAction,
        timeout_s: float | None = None,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
        **_: Any,
    ) -> GymObservation:
        """Take a step.

        A session that was never reset starts an episode first. Over HTTP, where each request
        is a session of its own, that makes a request one whole episode of a single step.

        Args:
            action: The action.
            timeout_s: Unused: the environment's own limits hold.
            seed: Seed of the episode that starts with this step.
            options: Options of the episode that starts with this step.

        Raises:
            ValueError: If the action is none of a numeric environment's.
            RuntimeError: If the episode has ended, or the session has been closed.
        """
        with self._lock:
            if self._state.episode_id is None:
                self.reset(seed=seed, options=options)
            return self._step(action)

    def _step(self, action: GymAction) -> GymObservation:
        env = self._opened()
        if self._done:
            raise RuntimeError("the episode has ended: reset before the next step")
        observation, reward, terminated, truncated, info = env.step(_taken(env, action.action))
        self._done = bool(terminated or truncated)
        self._state.step_count += 1
        self._state.done = self._done
        return GymObservation(
            observation=plain_json_value(observation),
            reward=None if _is_unscored(env, info) else plain_json_value(float(reward)),
            done=self._done,
            terminated=bool(terminated),
            truncated=bool(truncated),
            info=plain_json_value(info),
        )

    @property
    def state(self) -> State:
        """Name, seed, options and progress of the episode."""
        return self._state

    def close(self) -> None:
        """Close the environment after the step that it is in; safe to call twice."""
        with self._lock:
            env, self._env, self._closed = self._env, None, True
            self._on_close(self)
            if env is not None:
                env.close()

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, description and version of the environment."""
        return self._metadata

    def _opened(self) -> gym.Env[Any, Any]:
        if self._closed:
            raise RuntimeError("this session has been closed: connect again")
        if self._env is None:
            self._env = self._make_env()
        return self._env


def action_model(space: gym.Space[Any]) -> type[GymAction]:
    """`GymAction` with the schema of one action space, for clients that ask for it."""
    schema = WithJsonSchema(action_schema(space))
    return create_model("GymAction", __base__=GymAction, action=(Annotated[Any, schema], ...))


def _taken(env: gym.Env[Any, Any], value: Any) -> Any:
    """The action to take. What is none is an outcome where the environment gives outcomes."""
    action = decode_action(env.action_space, value)
    judges = isinstance(env.unwrapped, ExecutionEnv)
    if not judges and not env.action_space.contains(action):
        raise ValueError(f"action={value!r} is not in {env.action_space}")
    return action


def _is_unscored(env: gym.Env[Any, Any], info: dict[str, Any]) -> bool:
    failed = info.get("status") == Status.UNSCORED
    return failed and isinstance(env.unwrapped, ExecutionEnv)
