"""Several actions at once, executed one after the other without looking in between."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import (
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)
from numpy.typing import NDArray

from wmrl_gym.errors import UnsupportedEnvironmentError

_TRANSPARENT = (OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics, TimeLimit)
"""Wrappers that hand observations on as they are."""


class ActionChunk(gym.Wrapper[Any, NDArray[Any], Any, NDArray[Any]], RecordConstructorArgs):
    """Executes `size` actions in one step, open loop, and stops where the episode ends.

    The reward is the sum over the executed actions. Observation, ends and info are those of
    the last executed one; `info["chunk/steps"]` says how many were executed. Limits and
    settings in steps below this wrapper still count single actions.

    Frames are drawn once for each chunk where the environment allows it, as `WMRL-VLA-v0` does
    (by `frames_due` and `current_observation()`). Below a wrapper of any other kind than those
    of `gym.make` they are drawn on every step, so put wrappers of observations outside.

    Args:
        env: An environment with a `Box` of actions.
        size: Actions in a chunk, at least 1.

    Raises:
        UnsupportedEnvironmentError: If the actions are not a `Box`.
        ValueError: If `size` is below 1.

    Examples:
        >>> env = ActionChunk(gym.make("Pendulum-v1"), size=4)
        >>> env.action_space.shape
        (4, 1)
        >>> _ = env.reset(seed=0)
        >>> env.step(env.action_space.sample())[4]["chunk/steps"]
        4
    """

    def __init__(self, env: gym.Env[Any, Any], *, size: int = 8) -> None:
        if not isinstance(env.action_space, spaces.Box):
            raise UnsupportedEnvironmentError(
                f"env={env} has actions {env.action_space}: chunks need a Box"
            )
        if size < 1:
            raise ValueError(f"size={size} must be at least 1")
        RecordConstructorArgs.__init__(self, size=size)
        gym.Wrapper.__init__(self, env)
        single = env.action_space
        self.action_space = spaces.Box(
            low=np.broadcast_to(single.low, (size, *single.shape)).copy(),
            high=np.broadcast_to(single.high, (size, *single.shape)).copy(),
            dtype=single.dtype.type,
        )
        self._lazy = _draws_lazily(env)

    def step(self, action: NDArray[Any]) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Execute the chunk.

        Args:
            action: `[size, ...]` the actions, in their order.

        Raises:
            ValueError: If the chunk has another length or shape.
        """
        chunk = np.asarray(action)
        if chunk.shape != self.action_space.shape:
            raise ValueError(f"action has shape {chunk.shape}, not {self.action_space.shape}")
        if not self._lazy:
            return self._execute(chunk)
        bare: Any = self.unwrapped
        bare.frames_due = False
        try:
            _, *outcome = self._execute(chunk)
        finally:
            bare.frames_due = True
        return bare.current_observation(), *outcome

    def _execute(self, chunk: NDArray[Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward, steps = 0.0, 0
        for action in chunk:
            observation, step_reward, terminated, truncated, info = self.env.step(action)
            reward, steps = reward + float(step_reward), steps + 1
            if terminated or truncated:
                break
        return observation, reward, terminated, truncated, {**info, "chunk/steps": steps}


def _draws_lazily(env: gym.Env[Any, Any]) -> bool:
    """Whether frames can be left out, and nothing in between would miss or replace them."""
    while isinstance(env, _TRANSPARENT):
        env = env.env
    return hasattr(env, "frames_due") and hasattr(env, "current_observation")
