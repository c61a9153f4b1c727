"""The tasks of `control_study.py`: environments of several suites, each with a return in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import gymnasium_robotics
import numpy as np

from wmrl_gym.envs.suites import MetaWorldEnv

Env = gym.Env[Any, Any]
RETURN = {"score": "return", "score_bounds": (0.0, 1.0)}
SUCCESS = {"score": "success"}

gym.register_envs(gymnasium_robotics)


@dataclass(frozen=True)
class Task:
    """What the study needs to know of a task."""

    train: Callable[[], Env]
    """Makes the environment to learn in."""
    judge: Callable[[], Env]
    """Makes the one whose held-out starts the final policy is judged from."""
    score: dict[str, Any] = field(default_factory=lambda: RETURN)
    """What an episode is worth to the wrapper."""
    real_steps: int = 98_304
    """Steps of the arm that steps everything for real."""


class Progress(gym.Wrapper[Any, Any, Any, Any]):
    """Meta-World's reward as progress: how far its best so far rises; success ends the episode.

    That reward is at most 10, so that the return is at most 1.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.best = 0.0

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        self.best = 0.0
        return self.env.reset(**arguments)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, truncated, info = self.env.step(action)
        before, self.best = self.best, max(self.best, float(reward) / 10.0)
        achieved = bool(info["is_success"])
        return observation, self.best - before, achieved, truncated and not achieved, info


class Reaching(gym.Wrapper[Any, Any, Any, Any]):
    """The robot's own observation and the way to the goal; success pays 1 and ends the episode."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        size = self._flat(env.observation_space.sample()).shape
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, size, np.float32)

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**arguments)
        return self._flat(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, _, truncated, info = self.env.step(action)
        achieved = bool(info["is_success"])
        flat = self._flat(observation)
        return flat, float(achieved), achieved, truncated and not achieved, {"is_success": achieved}

    @staticmethod
    def _flat(parts: dict[str, np.ndarray]) -> np.ndarray:
        way = parts["desired_goal"] - parts["achieved_goal"]
        return np.concatenate([parts["observation"], way]).astype(np.float32)


class Balance(gym.Wrapper[Any, Any, Any, Any]):
    """Pays the share of the episode that each step is; not to fall until the end is success."""

    def __init__(self, env: Env, horizon: int) -> None:
        super().__init__(env)
        self.horizon = horizon

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, fallen, truncated, _ = self.env.step(action)
        info = {"is_success": truncated and not fallen}
        return observation, 1.0 / self.horizon, fallen, truncated, info


def family(name: str) -> Task:
    """A family of our own, whose return is the progress made."""
    make = partial(gym.make, "wmrl_gym:WMRL-VLA-State-v0", task=name)
    return Task(partial(make, reward="progress"), partial(make, split="held_out"))


def foreign(make: Callable[[], Env], **figures: Any) -> Task:
    """A task of another suite, whose starts follow the seed."""
    return Task(make, make, **figures)


def balancing(name: str) -> Task:
    """Poles that are not to fall for 200 steps."""
    return foreign(lambda: Balance(gym.make(name, max_episode_steps=200), 200))


LEVEL = {
    "reach": family("reach"),
    "button": family("button"),
    "reach-v3": foreign(lambda: Progress(MetaWorldEnv("reach-v3", horizon=100))),
    # It is learned sooner.
    "FetchReach-v4": foreign(
        lambda: Reaching(gym.make("FetchReach-v4")), score=SUCCESS, real_steps=65_536
    ),
}
"""Tasks on which the wrapped arm comes close to that which steps everything."""
SHORT = {
    "drawer": family("drawer"),
    "knob": family("knob"),
    "InvertedPendulum-v5": balancing("InvertedPendulum-v5"),
    "InvertedDoublePendulum-v5": balancing("InvertedDoublePendulum-v5"),
}
"""Tasks on which it has fallen short so far."""
TASKS = {**LEVEL, **SHORT}
