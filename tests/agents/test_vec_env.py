from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from tests.agents.toys import (
    BanditEnv,
    CorrectedVectorWrapper,
    CorrectedWrapper,
    WalkEnv,
    sync,
)
from wmrl_gym.agents.vec_env import (
    bridged,
    env_name,
    executable,
    is_corrected,
    require_finite_rewards,
    require_one_correction,
    update_correction,
)
from wmrl_gym.errors import UnsupportedEnvironmentError


def corrected_bandit() -> CorrectedWrapper:
    return CorrectedWrapper(BanditEnv())


def test_vector_environments_are_bridged_and_monitored() -> None:
    assert isinstance(bridged(sync(WalkEnv)), VecMonitor)
    env = WalkEnv()
    assert bridged(env) is env


def test_one_correction_for_all_is_accepted() -> None:
    env = bridged(CorrectedVectorWrapper(sync(WalkEnv)))
    assert is_corrected(env)
    require_one_correction(env)
    require_one_correction(DummyVecEnv([corrected_bandit]))
    require_one_correction(DummyVecEnv([BanditEnv] * 2))


def test_a_correction_in_each_is_refused() -> None:
    for env in (DummyVecEnv([corrected_bandit] * 2), bridged(sync(corrected_bandit, 2))):
        with pytest.raises(UnsupportedEnvironmentError, match="one WorldModelRewardVectorWrapper"):
            require_one_correction(env)


def test_update_is_called_once_and_logged() -> None:
    vector = CorrectedVectorWrapper(sync(WalkEnv, 3))
    logger = Logger(folder=None, output_formats=[])
    update_correction(bridged(vector), logger)
    assert vector.updates == 1
    assert logger.name_to_value == {"wmrl/updates": 1.0}


def test_an_update_without_correction_is_none_of_ours() -> None:
    logger = Logger(folder=None, output_formats=[])
    update_correction(DummyVecEnv([BanditEnv]), logger)
    assert not logger.name_to_value


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rewards_must_be_finite(bad: float) -> None:
    env = DummyVecEnv([BanditEnv] * 2)
    require_finite_rewards(np.array([0.0, 1.0], dtype=np.float32), env)
    with pytest.raises(UnsupportedEnvironmentError, match=r"BanditEnv.*sub-environment 1"):
        require_finite_rewards(np.array([0.0, bad], dtype=np.float32), env)


def test_names_of_environments() -> None:
    assert "WalkEnv" in env_name(DummyVecEnv([WalkEnv]))
    assert "CorrectedVectorWrapper" in env_name(bridged(CorrectedVectorWrapper(sync(WalkEnv))))


def test_box_actions_are_clipped_and_others_left_alone() -> None:
    env = DummyVecEnv([lambda: WalkEnv("box", "box")])
    policy = PPO("MlpPolicy", env, n_steps=2, batch_size=2).policy
    space = gym.spaces.Box(-1.0, 1.0, (2,))
    assert executable(th.tensor([[5.0, -0.5]]), policy, space).tolist() == [[1.0, -0.5]]
    assert executable(th.tensor([3]), policy, gym.spaces.Discrete(4)).tolist() == [3]


def test_the_error_says_what_a_step_without_score_looks_like() -> None:
    env = DummyVecEnv([BanditEnv])
    expected = re.escape("info['wmrl/valid']=False")
    with pytest.raises(UnsupportedEnvironmentError, match=expected):
        require_finite_rewards(np.array([np.nan], dtype=np.float32), env)
