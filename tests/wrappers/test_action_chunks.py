from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.wrappers import TimeLimit, TransformObservation

from wmrl_gym.envs.vla.pixel_env import VLAEnv
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_chunks import ActionChunk


class Line(gym.Env[np.ndarray, np.ndarray]):
    """Adds up its actions; pays them; ends by itself beyond `end`."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = spaces.Box(-1.0, 2.0, (1,), np.float32)

    def __init__(self, *, end: float = np.inf) -> None:
        self.end = end

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place, self.steps = 0.0, 0
        return np.array([self.place]), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.place += float(action[0])
        self.steps += 1
        done = self.place >= self.end
        return np.array([self.place]), float(action[0]), done, False, {"steps": self.steps}


def chunk(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)[:, None]


def test_spaces() -> None:
    env = ActionChunk(Line(), size=3)
    assert env.action_space == spaces.Box(-1.0, 2.0, (3, 1), np.float32)
    assert env.observation_space == Line.observation_space
    assert ActionChunk(Line()).action_space.shape == (8, 1)


def test_rewards_are_summed_and_the_last_step_is_shown() -> None:
    env = ActionChunk(Line(), size=3)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(chunk(1.0, 0.5, -0.25))
    assert observation.tolist() == [1.25]
    assert (reward, terminated, truncated) == (1.25, False, False)
    assert info == {"steps": 3, "chunk/steps": 3}


def test_it_stops_where_the_episode_terminates() -> None:
    env = ActionChunk(Line(end=1.5), size=4)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(chunk(1.0, 1.0, 1.0, 1.0))
    assert observation.tolist() == [2.0]
    assert (reward, terminated, truncated) == (2.0, True, False)
    assert info == {"steps": 2, "chunk/steps": 2}


def test_it_stops_where_a_limit_below_truncates() -> None:
    env = ActionChunk(TimeLimit(Line(), 5), size=4)
    env.reset(seed=0)
    assert env.step(chunk(1, 1, 1, 1))[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step(chunk(1, 1, 1, 1))
    assert (reward, terminated, truncated, info["chunk/steps"]) == (1.0, False, True, 1)


def test_bad_arguments_and_chunks() -> None:
    with pytest.raises(ValueError, match="size=0 must be at least 1"):
        ActionChunk(Line(), size=0)
    with pytest.raises(UnsupportedEnvironmentError, match=r"Discrete\(2\): chunks need a Box"):
        ActionChunk(gym.make("CartPole-v1"))
    env = ActionChunk(Line(), size=3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(2, 1\), not \(3, 1\)"):
        env.step(chunk(1, 1))


def test_its_spec_survives_json() -> None:
    env = ActionChunk(gym.make("Pendulum-v1"), size=5)
    rebuilt = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert rebuilt.action_space == env.action_space
    action = np.linspace(-2, 2, 5, dtype=np.float32)[:, None]
    env.reset(seed=3)
    rebuilt.reset(seed=3)
    assert data_equivalence(env.step(action), rebuilt.step(action), exact=True)


class CountedFrames(VLAEnv):
    """Counts the pictures that it draws."""

    drawn = 0

    def picture(self, camera: str = "agentview") -> Any:
        self.drawn += 1
        return super().picture(camera)


PIXELS: dict[str, Any] = {"task": "reach", "image_size": 32, "render_profile": "fast"}
CHUNKS = np.random.default_rng(0).uniform(-1, 1, (3, 4, 7)).astype(np.float32)


def test_pictures_are_drawn_once_for_a_chunk_and_are_those_of_its_end() -> None:
    lazy, plain = CountedFrames(**PIXELS), CountedFrames(**PIXELS)
    env = ActionChunk(lazy, size=4)
    assert data_equivalence(env.reset(seed=0)[0], plain.reset(seed=0)[0], exact=True)
    for actions in CHUNKS:
        observation, reward, *_ = env.step(actions)
        steps = [plain.step(action) for action in actions]
        assert data_equivalence(observation, steps[-1][0], exact=True)
        assert reward == sum(step[1] for step in steps)
    assert lazy.drawn == 2 * (1 + 3)
    assert plain.drawn == 2 * (1 + 12)
    assert lazy.frames_due


def test_a_chunk_that_is_cut_short_ends_with_a_fresh_picture() -> None:
    lazy, plain = CountedFrames(**PIXELS), CountedFrames(**PIXELS)
    env = ActionChunk(TimeLimit(lazy, 6), size=4)
    env.reset(seed=0)
    plain.reset(seed=0)
    env.step(CHUNKS[0])
    observation, _, _, truncated, info = env.step(CHUNKS[1])
    for action in [*CHUNKS[0], *CHUNKS[1][:2]]:
        expected, *_ = plain.step(action)
    assert (truncated, info["chunk/steps"]) == (True, 2)
    assert data_equivalence(observation, expected, exact=True)


def test_below_a_wrapper_of_observations_every_step_is_drawn() -> None:
    # Each picture may count there, as in a stack of the last few.
    bare = CountedFrames(**PIXELS)
    inner = TransformObservation(bare, lambda observation: observation, bare.observation_space)
    env = ActionChunk(inner, size=4)
    env.reset(seed=0)
    env.step(CHUNKS[0])
    assert bare.drawn == 2 * (1 + 4)
