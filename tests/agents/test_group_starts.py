from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
)

from tests.agents.toys import WalkEnv, sync
from wmrl_gym.agents import VectorEnvBridge
from wmrl_gym.agents.group_starts import require_restartable, start_episodes
from wmrl_gym.errors import UnsupportedEnvironmentError


class ImageEnv(gym.Env[Any, Any]):
    observation_space = gym.spaces.Box(0, 255, (36, 40, 3), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.integers(255, size=(36, 40, 3), dtype=np.uint8), {}


@pytest.mark.parametrize("observation", ["box", "dict", "discrete"])
def test_rows_of_the_slots_are_overwritten(observation: str) -> None:
    env = DummyVecEnv([lambda: WalkEnv(observation)] * 3)
    env.seed(0)
    observations = env.reset()
    start_episodes(env, observations, slots=[0, 2], seed=3, group=9)
    starts = [inner.unwrapped.starts[-1] for inner in env.envs]
    assert starts == [(3, 9), (1, None), (3, 9)]
    expected, _ = WalkEnv(observation).reset(seed=3)
    for slot in (0, 2):
        if isinstance(observations, dict):
            assert {key: value[slot].tolist() for key, value in observations.items()} == {
                key: value.tolist() for key, value in expected.items()
            }
        else:
            np.testing.assert_array_equal(observations[slot], expected)


def test_images_are_transposed_as_the_policy_sees_them() -> None:
    env = VecTransposeImage(DummyVecEnv([ImageEnv]))
    observations: Any = env.reset()
    start_episodes(env, observations, slots=[0], seed=3, group=0)
    expected, _ = ImageEnv().reset(seed=3)
    np.testing.assert_array_equal(observations[0], expected.transpose(2, 0, 1))


def test_wrappers_that_would_be_bypassed_are_refused() -> None:
    env = DummyVecEnv([WalkEnv])
    require_restartable(VecMonitor(env))
    with pytest.raises(UnsupportedEnvironmentError, match="VecNormalize"):
        require_restartable(VecMonitor(VecNormalize(env)))
    with pytest.raises(UnsupportedEnvironmentError, match="VecFrameStack"):
        require_restartable(VecFrameStack(env, 2))


def test_same_step_autoreset_is_refused() -> None:
    require_restartable(VectorEnvBridge(sync(WalkEnv)))
    env = VecMonitor(VectorEnvBridge(sync(WalkEnv, mode=AutoresetMode.SAME_STEP)))
    with pytest.raises(UnsupportedEnvironmentError, match=r"=AutoresetMode\.DISABLED"):
        require_restartable(env)
