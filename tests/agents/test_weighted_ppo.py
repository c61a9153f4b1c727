from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from tests.agents.toys import (
    BanditEnv,
    BrokenEnv,
    CorrectedVectorWrapper,
    CorrectedWrapper,
    WalkEnv,
    WeighedBandit,
    sync,
)
from wmrl_gym.agents import WeightedPPO
from wmrl_gym.errors import UnsupportedEnvironmentError

ARGUMENTS: dict[str, Any] = {"n_steps": 16, "batch_size": 32, "n_epochs": 2, "seed": 0}


def parameters(model: PPO) -> th.Tensor:
    return th.cat([p.detach().flatten() for p in model.policy.parameters()])


class Weights(BaseCallback):
    """Keeps the weights of each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.rollouts: list[np.ndarray[Any, Any]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.rollouts.append(self.locals["rollout_buffer"].weights.copy())


def test_without_weights_it_is_ppo() -> None:
    # With one minibatch for the whole rollout, both normalise over the same steps.
    env = partial(DummyVecEnv, [WalkEnv] * 2)
    stock = PPO("MlpPolicy", env(), **ARGUMENTS).learn(96)
    ours = WeightedPPO("MlpPolicy", env(), **ARGUMENTS).learn(96)
    th.testing.assert_close(parameters(ours), parameters(stock), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weight", [1.3, 2.0])
def test_equal_weights_change_no_bit(weight: float) -> None:
    plain = WeightedPPO("MlpPolicy", DummyVecEnv([BanditEnv] * 2), **ARGUMENTS).learn(64)
    env = DummyVecEnv([partial(WeighedBandit, scale=weight)] * 2)
    weighed = WeightedPPO("MlpPolicy", env, **ARGUMENTS).learn(64)
    assert th.equal(parameters(plain), parameters(weighed))


def test_weights_and_validity_come_from_the_infos() -> None:
    heavy, light = partial(WeighedBandit, scale=3.0), partial(WeighedBandit, invalid=0)
    recorder = Weights()
    model = WeightedPPO("MlpPolicy", DummyVecEnv([heavy, light]), **ARGUMENTS)
    model.learn(32, callback=recorder)
    (weights,) = recorder.rollouts
    assert (weights[:, 0] == 3.0).all()
    # The buffer is flat by now, environment by environment.
    actions = model.rollout_buffer.actions.reshape(2, 16, 2)
    assert weights[:, 1].tolist() == (actions[1, :, 0] != 0).astype(float).tolist()
    assert set(weights[:, 1]) == {0.0, 1.0}


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_gymnasium_vector_environment_trains_alike(mode: AutoresetMode) -> None:
    a = WeightedPPO("MlpPolicy", DummyVecEnv([WalkEnv] * 2), **ARGUMENTS).learn(64)
    b = WeightedPPO("MlpPolicy", sync(WalkEnv, 2, mode), **ARGUMENTS).learn(64)
    assert th.equal(parameters(a), parameters(b))
    assert b.ep_info_buffer, "the bridge is monitored"


@pytest.mark.parametrize("vector", [False, True])
def test_update_is_called_exactly_once_a_rollout(vector: bool) -> None:
    env: Any
    env = CorrectedVectorWrapper(sync(WalkEnv, 2)) if vector else CorrectedWrapper(WalkEnv())
    recorder = Weights()
    model = WeightedPPO("MlpPolicy", env, **{**ARGUMENTS, "batch_size": 16})
    model.learn(96, callback=recorder, log_interval=1000)
    assert env.updates == len(recorder.rollouts) > 1
    assert model.logger.name_to_value["wmrl/updates"] == env.updates


def test_a_rollout_that_is_stopped_updates_nothing() -> None:
    env = CorrectedWrapper(BanditEnv())
    model = WeightedPPO("MlpPolicy", env, **{**ARGUMENTS, "batch_size": 16})
    model.learn(64, callback=lambda local, _: local["n_steps"] < 3)
    assert env.updates == 0
    assert model.num_timesteps == 4


def test_separate_corrections_are_refused() -> None:
    env = DummyVecEnv([lambda: CorrectedWrapper(BanditEnv())] * 2)
    with pytest.raises(UnsupportedEnvironmentError, match="WorldModelRewardVectorWrapper"):
        WeightedPPO("MlpPolicy", env)


def test_dict_observations() -> None:
    env = DummyVecEnv([partial(WalkEnv, "dict", "discrete")] * 2)
    model = WeightedPPO("MultiInputPolicy", env, **ARGUMENTS).learn(32)
    assert model.num_timesteps == 32


def test_a_reward_that_is_no_number_stops_the_run() -> None:
    model = WeightedPPO("MlpPolicy", BrokenEnv(), **{**ARGUMENTS, "batch_size": 16})
    with pytest.raises(UnsupportedEnvironmentError, match="BrokenEnv"):
        model.learn(16)
    assert th.isfinite(parameters(model)).all()


def test_save_and_load(tmp_path: Path) -> None:
    model = WeightedPPO("MlpPolicy", DummyVecEnv([WalkEnv] * 2), **ARGUMENTS).learn(32)
    model.save(tmp_path / "model")
    loaded = WeightedPPO.load(tmp_path / "model", env=sync(WalkEnv, 2))
    assert th.equal(parameters(model), parameters(loaded))
    assert loaded.learn(32, reset_num_timesteps=False).num_timesteps == 64


def test_lists_of_callbacks() -> None:
    recorders = [Weights(), Weights()]
    model = WeightedPPO("MlpPolicy", DummyVecEnv([BanditEnv] * 2), **ARGUMENTS)
    model.learn(32, callback=list(recorders))
    assert [len(recorder.rollouts) for recorder in recorders] == [1, 1]


def test_an_environment_id() -> None:
    model = WeightedPPO("MlpPolicy", "CartPole-v1", n_steps=64, seed=0)
    before = parameters(model)
    model.learn(64)
    assert not th.equal(parameters(model), before)


@pytest.mark.parametrize("name", ["normalize_advantage", "rollout_buffer_class"])
def test_what_makes_the_weights_work_cannot_be_chosen(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=None cannot be chosen"):
        WeightedPPO("MlpPolicy", BanditEnv(), **{name: None})
