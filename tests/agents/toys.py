"""Small environments with known answers. No torch here: workers import this file."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper

OBSERVATIONS = {
    "box": spaces.Box(0.0, 10.0, (3,), np.float32),
    "discrete": spaces.Discrete(20),
    "multidiscrete": spaces.MultiDiscrete([5, 7]),
    "dict": spaces.Dict({"goal": spaces.Box(0.0, 10.0, (2,), np.float32), "t": spaces.Discrete(9)}),
}
ACTIONS = {
    "multidiscrete": spaces.MultiDiscrete([4, 3]),
    "discrete": spaces.Discrete(4),
    "box": spaces.Box(-1.0, 1.0, (2,), np.float32),
}


class WalkEnv(gym.Env[Any, Any]):
    """Episodes of 2 to 4 steps, whose ends, rewards and infos depend on seed and actions.

    `starts` logs (seed, group) of every reset, `ends` the group of every finished episode.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 1}

    def __init__(
        self,
        observation: str = "box",
        action: str = "multidiscrete",
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = OBSERVATIONS[observation]
        self.action_space = ACTIONS[action]
        self.render_mode = render_mode
        self.kind = observation
        self.gain = 1.0
        self.starts: list[tuple[int | None, int | None]] = []
        self.ends: list[int | None] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.goal = int(self.np_random.integers(4))
        self.t = 0
        self.group = (options or {}).get("group")
        self.starts.append((seed, self.group))
        return self._observation(), {"goal": self.goal, "fresh": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        hit = abs(float(np.sum(action))) > 1.0
        reward = self.gain * (float(hit) + 0.1 * self.goal + 0.01 * self.t)
        terminated = hit and self.t >= 2
        truncated = self.t == 2 + self.goal % 3
        if terminated or truncated:
            self.ends.append(self.group)
        return self._observation(), reward, terminated, truncated, self._info()

    def boost(self, gain: float) -> float:
        self.gain = gain
        return gain

    def render(self) -> Any:
        return np.full((4, 4, 3), self.t, dtype=np.uint8)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "t": self.t,
            "half": self.t / 2,
            "even": self.t % 2 == 0,
            "name": f"step-{self.t}",
            "array": np.array([self.t, self.goal]),
            "nested": {"goal": float(self.goal), "deep": {"t": self.t}},
        }
        return {**info, "rare": 0.25} if self.t % 2 == 0 else info

    def _observation(self) -> Any:
        if self.kind == "discrete":
            return np.int64(5 * self.goal + min(self.t, 4))
        if self.kind == "multidiscrete":
            return np.array([self.goal, self.t])
        if self.kind == "dict":
            goal = np.array([self.goal, self.t], dtype=np.float32)
            return {"goal": goal, "t": np.int64(self.t)}
        return np.array([self.goal, self.t, 1.0], dtype=np.float32)


class BanditEnv(gym.Env[Any, Any]):
    """One step: the best of 4 x 4 actions depends on the context, which the seed draws.

    The score is the share of the two action components that are right: 0.25 by chance.
    """

    observation_space = spaces.Box(0.0, 1.0, (4,), np.float32)
    action_space = spaces.MultiDiscrete([4, 4])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.context = int(self.np_random.integers(4))
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._observation(), self.score(action), True, False, {}

    def score(self, action: Any) -> float:
        best = np.array([self.context, 3 - self.context])
        return float(np.mean(np.asarray(action) == best))

    def _observation(self) -> Any:
        return np.eye(4, dtype=np.float32)[self.context]


class WeighedBandit(BanditEnv):
    """Reports weights and validity that depend on the group, and on the action."""

    def __init__(
        self, weights: tuple[float, ...] = (1.0,), invalid: int | None = None, scale: float = 1.0
    ) -> None:
        self.weights = weights
        self.invalid = invalid
        self.scale = scale

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.group = int((options or {}).get("group", 0))
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = super().step(action)
        info = {
            "wmrl/weight": self.scale * self.weights[self.group % len(self.weights)],
            "wmrl/valid": int(action[0]) != self.invalid,
        }
        return observation, reward, terminated, truncated, info


class BrokenEnv(BanditEnv):
    """Gives a reward that is not a number."""

    def score(self, action: Any) -> float:
        return float("nan")


class CorrectedWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Has what the agents look for in a reward wrapper, and counts the updates."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.correction = object()
        self.updates = 0

    def update(self) -> dict[str, float]:
        self.updates += 1
        return {"updates": float(self.updates)}


class CorrectedVectorWrapper(VectorWrapper[Any, Any, Any, Any, Any]):
    """The same around a vector environment; forwards no access to sub-environments."""

    def __init__(self, env: gym.vector.VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.correction = object()
        self.updates = 0
        self.steps = 0

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.steps += 1
        return self.env.step(actions)

    def update(self) -> dict[str, float]:
        self.updates += 1
        return {"updates": float(self.updates)}


def sync(
    make: Any, num_envs: int = 3, mode: AutoresetMode = AutoresetMode.DISABLED
) -> SyncVectorEnv:
    """A vector environment of `num_envs` environments that `make` makes."""
    return SyncVectorEnv([make] * num_envs, autoreset_mode=mode)
