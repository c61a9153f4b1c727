"""A point that is pushed about the plane, and models that know or mistake its dynamics.

No torch here: workers import this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import ImaginedStep

NEAR = 0.15
"""Distance from the goal that counts as success."""
STRIDE = np.float32(0.25)


def moved(states: Any, actions: Any) -> Any:
    """`[B, 4]` position and goal, `[B, 2]` pushes -> `[B, 4]`; all in float32."""
    following = np.array(states, dtype=np.float32)
    following[:, :2] += STRIDE * np.clip(actions, -1.0, 1.0).astype(np.float32)
    return following


def distance(states: Any) -> Any:
    """`[B]` distance from the goal."""
    return np.linalg.norm(states[:, :2] - states[:, 2:], axis=1)


class PointEnv(gym.Env[Any, Any]):
    """A point starts at the origin; its goal, at distance 1, comes from the seed.

    It counts its steps and resets, and never ends by itself unless told to.
    """

    observation_space = spaces.Box(-9.0, 9.0, (4,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, *, horizon: int = 8, ends: bool = False, noise: float = 0.0) -> None:
        self.horizon = horizon
        self.ends = ends
        self.noise = noise
        self.stepped = 0
        self.resets: list[tuple[int | None, dict[str, Any] | None]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        angle = self.np_random.uniform(0.0, 2.0 * np.pi)
        self.state = np.array([[0.0, 0.0, np.cos(angle), np.sin(angle)]], dtype=np.float32)
        self.time = 0
        self.resets.append((seed, options))
        return self.state[0].copy(), {"task": "point", "instruction": "go there"}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        noise = self.noise * self.np_random.normal(size=2) if self.noise else 0.0
        self.state = moved(self.state, np.asarray(action)[None] + noise)
        self.stepped += 1
        self.time += 1
        off = float(distance(self.state)[0])
        success = off < NEAR
        truncated = self.time >= self.horizon
        terminated = self.ends and success
        return self.state[0].copy(), 1.0 - off, terminated, truncated, {"is_success": success}


class SparsePointEnv(PointEnv):
    """The same with what the wrapper makes of it: the reward is the success, which ends it."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, _, truncated, info = super().step(action)
        success = info["is_success"]
        return observation, float(success), success, truncated and not success, info


class GoalPointEnv(gym.Env[Any, Any]):
    """The same with observations as goal-conditioned environments have them, in float64."""

    observation_space = spaces.Dict(
        {
            "observation": spaces.Box(-9.0, 9.0, (2,), np.float64),
            "achieved_goal": spaces.Box(-9.0, 9.0, (1, 2), np.float64),
            "desired_goal": spaces.Box(-9.0, 9.0, (2,), np.float64),
        }
    )
    action_space = PointEnv.action_space

    def __init__(self) -> None:
        self.point = PointEnv()
        self.horizon = 8

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        state, info = self.point.reset(seed=seed, options=options)
        return self._observation(state), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        state, reward, terminated, truncated, info = self.point.step(action)
        return self._observation(state), reward, terminated, truncated, info

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> float:
        return -float(np.linalg.norm(np.asarray(achieved) - desired))

    def _observation(self, state: Any) -> dict[str, Any]:
        state = state.astype(np.float64)
        return {
            "observation": state[:2],
            "achieved_goal": state[None, :2],
            "desired_goal": state[2:],
        }


class ExactDynamics:
    """Knows the dynamics of `PointEnv`; what it makes of success and reward may be wrong.

    Args:
        low: Probability of success that it gives where there is none.
        high: That where there is.
        bias: Added to every predicted reward.
        ready_after: Episodes to learn from before it is ready.
    """

    observation_size = 4
    action_size = 2

    def __init__(
        self, *, low: float = 0.0, high: float = 1.0, bias: float = 0.0, ready_after: int = 0
    ) -> None:
        self.low = low
        self.high = high
        self.bias = bias
        self.ready_after = ready_after
        self.batches: list[int] = []
        self.learned: list[EpisodeRecord] = []

    def step(self, observations: Any, actions: Any) -> ImaginedStep:
        self.batches.append(len(observations))
        following = moved(observations, actions)
        off = distance(following).astype(np.float64)
        success = np.where(off < NEAR, self.high, self.low)
        nothing = np.zeros(len(following))
        return ImaginedStep(following, 1.0 - off + self.bias, success, nothing, nothing)

    def learn(self, episodes: Sequence[EpisodeRecord]) -> None:
        self.learned.extend(episodes)

    def ready(self, task: str) -> bool:
        return len(self.learned) >= self.ready_after

    def state_dict(self) -> dict[str, Any]:
        return {"learned": list(self.learned)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.learned = list(state["learned"])


class BlindDynamics(ExactDynamics):
    """Worthless: what it says of success has nothing to do with what happens."""

    def step(self, observations: Any, actions: Any) -> ImaginedStep:
        step = super().step(observations, actions)
        noise = np.abs(np.sin(1e4 * step.observations[:, 0].astype(np.float64)))
        return ImaginedStep(step.observations, noise, noise, step.uncertainty, step.termination)


class LostDynamics(ExactDynamics):
    """Gives no number from the third step of an episode on."""

    def step(self, observations: Any, actions: Any) -> ImaginedStep:
        step = super().step(observations, actions)
        far = np.abs(step.observations[:, :2]).sum(axis=1) > 2.5 * float(STRIDE)
        step.observations[far] = np.nan
        return step


class DistanceJudge:
    """A reward model: sees the last observation only, and is modest."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def score(self, episodes: Sequence[EpisodeRecord]) -> Any:
        self.batches.append(len(episodes))
        last = np.stack([episode.observations[-1] for episode in episodes])
        return 0.2 + 0.5 * (distance(last) < NEAR)


def closeness(episode: EpisodeRecord) -> float:
    """A score of the user's own, in [0, 1]."""
    return float(np.clip(1.0 - distance(episode.observations[-1:])[0], 0.0, 1.0))


def straight(observation: Any) -> Any:
    """The action that leads straight to the goal."""
    way = observation[2:] - observation[:2]
    return (way / max(float(np.linalg.norm(way)), 1e-6)).astype(np.float32)


def astray(observation: Any) -> Any:
    """The action that leads away from it."""
    return -straight(observation)


def play(env: Any, policy: Any, **reset: Any) -> tuple[list[float], list[Any], dict[str, Any]]:
    """One episode: its rewards, its observations and its last info."""
    observation, info = env.reset(**reset)
    rewards, observations, done = [], [observation], False
    while not done:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        rewards.append(reward)
        observations.append(observation)
        done = terminated or truncated
    return rewards, observations, info
