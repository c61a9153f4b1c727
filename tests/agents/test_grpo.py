from __future__ import annotations

import copy
import os
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from tests.agents.toys import (
    BanditEnv,
    BrokenEnv,
    CorrectedVectorWrapper,
    CorrectedWrapper,
    WalkEnv,
    WeighedBandit,
    sync,
)
from wmrl_gym.agents import GRPO
from wmrl_gym.agents.groups import group_seed
from wmrl_gym.agents.rollout import GroupBatch
from wmrl_gym.errors import UnsupportedEnvironmentError


class Recorder(BaseCallback):
    """Keeps each batch and the policy that collected it; can stop the training."""

    def __init__(self, stop_at: int | None = None) -> None:
        super().__init__()
        self.batches: list[GroupBatch] = []
        self.policies: list[Any] = []
        self.stop_at = stop_at
        self.events: list[str] = []

    def _on_rollout_start(self) -> None:
        self.events.append("start")

    def _on_step(self) -> bool:
        return self.stop_at is None or self.n_calls < self.stop_at

    def _on_rollout_end(self) -> None:
        self.events.append("end")
        self.batches.append(self.locals["batch"])
        self.policies.append(copy.deepcopy(self.model.policy))


def small(env: Any, **arguments: Any) -> GRPO:
    """A model with small batches; 4 groups of 4."""
    defaults: dict[str, Any] = {
        "group_size": 4,
        "groups_per_batch": 4,
        "seed": 0,
        "policy_kwargs": {"net_arch": [16]},
    }
    return GRPO("MlpPolicy", env, **{**defaults, **arguments})


def parameters(model: GRPO) -> th.Tensor:
    return th.cat([p.detach().flatten() for p in model.policy.parameters()])


def bandits(num_envs: int = 16) -> DummyVecEnv:
    return DummyVecEnv([BanditEnv] * num_envs)


def mean_score(model: GRPO, episodes: int = 50) -> float:
    env = BanditEnv()
    scores = []
    for seed in range(episodes):
        observation, _ = env.reset(seed=1000 + seed)
        action, _ = model.predict(observation, deterministic=True)
        scores.append(env.step(action)[1])
    return float(np.mean(scores))


def test_it_solves_a_contextual_bandit() -> None:
    # 16 joint actions, 4 contexts: 0.25 by chance, 1 at best.
    model = GRPO("MlpPolicy", sync(BanditEnv, 64), learning_rate=3e-3, seed=0)
    assert mean_score(model) < 0.6
    model.learn(64 * 40)
    assert mean_score(model) > 0.9


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("num_envs", [1, 3, 20])
def test_groups_are_complete_and_start_alike(num_envs: int, vector: bool) -> None:
    env = sync(WalkEnv, num_envs) if vector else DummyVecEnv([WalkEnv] * num_envs)
    recorder = Recorder()
    model = small(env)
    model.learn(1, callback=recorder)
    (batch,) = recorder.batches
    assert Counter(batch.groups.tolist()) == dict.fromkeys(range(4), 4)
    assert batch.lengths.sum() == len(batch.actions) == len(batch.episodes)
    assert batch.lengths.tolist() == th.bincount(batch.episodes).tolist()
    assert len(set(batch.lengths)) > 1, "the toy must have unequal lengths"
    starts = [
        start for inner in env.envs for start in inner.unwrapped.starts if start[1] is not None
    ]
    assert set(starts) == {(group_seed(0, group), group) for group in range(4)}
    ends = Counter(end for inner in env.envs for end in inner.unwrapped.ends)
    assert all(ends[group] == 4 for group in range(3))
    assert ends[3] >= 4, "slots without an episode replay the last group"
    # One reset a start, besides the first one of all and those that a VecEnv makes by itself.
    assert len(starts) <= 16 + num_envs + ends[3] - 4
    first = th.tensor([int((batch.episodes == e).nonzero()[0]) for e in range(16)])
    goals = batch.observations[first, 0].reshape(4, 4)  # type: ignore[index]  # no dict here
    assert th.equal(goals, goals[:, :1].expand(4, 4))


def test_scores_are_sums_of_rewards_of_the_actions_in_the_batch() -> None:
    recorder = Recorder()
    small(DummyVecEnv([WalkEnv] * 3)).learn(1, callback=recorder)
    (batch,) = recorder.batches
    for episode in range(16):
        env = WalkEnv()
        env.reset(seed=group_seed(0, int(batch.groups[episode])))
        actions = batch.actions[batch.episodes == episode].numpy()
        rewards = [env.step(action)[1] for action in actions]
        assert batch.scores[episode] == pytest.approx(sum(rewards), rel=1e-6)


def test_vector_and_single_environments_train_alike() -> None:
    a = small(DummyVecEnv([WalkEnv] * 3)).learn(200)
    b = small(sync(WalkEnv, 3)).learn(200)
    assert th.equal(parameters(a), parameters(b))


def test_same_seed_same_parameters() -> None:
    a, b, c = (small(bandits(), seed=seed).learn(64) for seed in (1, 1, 2))
    assert th.equal(parameters(a), parameters(b))
    assert not th.equal(parameters(a), parameters(c))


def test_torch_random_state_is_left_alone() -> None:
    model = small(bandits())
    before = th.get_rng_state()
    model.learn(16)
    assert th.equal(th.get_rng_state(), before)


def test_one_gradient_step_by_hand() -> None:
    # Every fourth group weighs 3, episodes with first action 0 have no score.
    make = partial(WeighedBandit, weights=(3.0, 1.0, 1.0, 1.0), invalid=0)
    recorder = Recorder()
    env = DummyVecEnv([make] * 16)
    model = small(env, n_epochs=1, ent_coef=0.01, max_grad_norm=1e9)
    model.learn(16, callback=recorder)
    (batch,), (policy,) = recorder.batches, recorder.policies
    valid = batch.actions[:, 0].numpy() != 0
    order = np.argsort(batch.episodes.numpy())
    assert batch.valid.tolist() == valid[order].tolist()
    assert 0 < valid.sum() < 16

    advantages = np.zeros(16)
    for group in range(4):
        members = (batch.groups == group) & batch.valid
        scores = batch.scores[members]
        advantages[members] = (scores - scores.mean()) / (scores.std() + 1e-4)
    raw = np.where(batch.groups == 0, 3.0, 1.0)
    weights = raw / raw[batch.valid].mean()
    rows = np.flatnonzero(valid)
    observations: Any = batch.observations
    _, log_prob, entropy = policy.evaluate_actions(observations[rows], batch.actions[rows])
    episodes = batch.episodes[rows].numpy()
    factor = th.as_tensor(weights[episodes] * advantages[episodes], dtype=th.float32)
    ratio = th.exp(log_prob - batch.log_probs[rows])
    loss = -(factor * ratio).mean() - 0.01 * entropy.mean()
    policy.optimizer.zero_grad()
    loss.backward()
    policy.optimizer.step()
    expected = th.cat([p.detach().flatten() for p in policy.parameters()])
    th.testing.assert_close(parameters(model), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weight", [1.3, 2.0])
def test_equal_weights_change_no_bit(weight: float) -> None:
    plain = small(bandits()).learn(64)
    weighed = small(DummyVecEnv([partial(WeighedBandit, scale=weight)] * 16)).learn(64)
    assert th.equal(parameters(plain), parameters(weighed))


def test_unequal_weights_change_the_loss_and_nothing_before_it() -> None:
    recorders = Recorder(), Recorder()
    plain = small(bandits()).learn(16, callback=recorders[0])
    make = partial(WeighedBandit, weights=(3.0, 1.0))
    weighed = small(DummyVecEnv([make] * 16)).learn(16, callback=recorders[1])
    a, b = recorders[0].batches[0], recorders[1].batches[0]
    assert a.scores.tolist() == b.scores.tolist()
    assert th.equal(a.actions, b.actions)
    assert not th.equal(parameters(plain), parameters(weighed))


def test_a_batch_without_any_score_trains_nothing() -> None:
    class Invalid(WeighedBandit):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            *rest, info = super().step(action)
            return (*rest, {**info, "wmrl/valid": False})  # type: ignore[return-value]  # unpacked

    model = small(DummyVecEnv([Invalid] * 4))
    before = parameters(model)
    model.learn(16)
    assert th.equal(parameters(model), before)
    assert model.groups_done == 4


def test_degenerate_and_invalid_are_counted(tmp_path: Path) -> None:
    make = partial(WeighedBandit, invalid=0)
    model = small(DummyVecEnv([make] * 16), tensorboard_log=str(tmp_path))
    recorder = Recorder()
    model.learn(16, callback=recorder, log_interval=100)
    values = model.logger.name_to_value
    (batch,) = recorder.batches
    assert values["rollout/invalid"] == (~batch.valid).sum()
    spread = [len(set(batch.scores[(batch.groups == g) & batch.valid])) for g in range(4)]
    assert values["rollout/degenerate"] == sum(n < 2 for n in spread)


@pytest.mark.parametrize("vector", [False, True])
def test_update_is_called_exactly_once_a_batch(vector: bool) -> None:
    corrected: Any
    corrected = CorrectedVectorWrapper(sync(WalkEnv, 3)) if vector else CorrectedWrapper(WalkEnv())
    recorder = Recorder()
    model = small(corrected)
    model.learn(150, callback=recorder, log_interval=1000)
    assert corrected.updates == len(recorder.batches) > 1
    assert model.logger.name_to_value["wmrl/updates"] == corrected.updates


def test_separate_corrections_are_refused() -> None:
    env = DummyVecEnv([lambda: CorrectedWrapper(BanditEnv())] * 2)
    with pytest.raises(UnsupportedEnvironmentError, match="WorldModelRewardVectorWrapper"):
        small(env)


def test_a_saved_run_goes_on_as_if_it_had_not_been_interrupted(tmp_path: Path) -> None:
    whole = small(bandits(), kl_coef=0.1).learn(32).learn(32, reset_num_timesteps=False)
    first = small(bandits(), kl_coef=0.1).learn(32)
    first.save(tmp_path / "model")
    recorder = Recorder()
    resumed = GRPO.load(tmp_path / "model", env=bandits())
    assert resumed.groups_done == 8
    resumed.learn(32, callback=recorder, reset_num_timesteps=False)
    assert recorder.batches[0].groups.min() == 8
    assert resumed.num_timesteps == 64
    assert th.equal(parameters(whole), parameters(resumed))


def test_an_unseeded_run_continues_its_own_groups(tmp_path: Path) -> None:
    first = small(bandits(), seed=None)
    first.save(tmp_path / "model")
    resumed = GRPO.load(tmp_path / "model", env=bandits())
    assert resumed.group_seed == first.group_seed
    assert small(bandits(), seed=None).group_seed != first.group_seed


def test_loading_for_prediction_needs_no_environment(tmp_path: Path) -> None:
    model = small(bandits())
    model.save(tmp_path / "model")
    loaded = GRPO.load(tmp_path / "model")
    observation, _ = BanditEnv().reset(seed=0)
    action, _ = model.predict(observation, deterministic=True)
    assert loaded.predict(observation, deterministic=True)[0].tolist() == action.tolist()


def test_loading_with_a_vector_environment(tmp_path: Path) -> None:
    small(bandits()).save(tmp_path / "model")
    loaded = GRPO.load(tmp_path / "model", env=sync(BanditEnv, 5))
    assert loaded.learn(1).groups_done == 4


def test_callbacks_can_stop_and_the_groups_are_spent() -> None:
    recorder = Recorder(stop_at=3)
    model = small(bandits(4))
    before = parameters(model)
    model.learn(1000, callback=recorder)
    assert recorder.events == ["start"]
    assert model.num_timesteps == 12
    assert model.groups_done == 4
    assert th.equal(parameters(model), before)


def test_callbacks_see_rollouts() -> None:
    recorder = Recorder()
    small(bandits()).learn(32, callback=recorder)
    assert recorder.events == ["start", "end"] * 2


def test_kl_keeps_the_policy_where_it_was() -> None:
    def distance(kl_coef: float) -> float:
        model = small(bandits(), kl_coef=kl_coef, learning_rate=1e-2)
        before = parameters(model)
        model.learn(160)
        return float((parameters(model) - before).norm())

    assert distance(100.0) < 0.5 * distance(0.0)


def test_the_reference_is_the_policy_at_the_start_of_learning() -> None:
    model = small(bandits(), kl_coef=0.1)
    with th.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.1)
    start = parameters(model)
    model.learn(16)
    assert model.reference_policy is not None
    reference = th.cat([p.detach().flatten() for p in model.reference_policy.parameters()])
    assert th.equal(reference, start)


def test_tensorboard_and_logs(tmp_path: Path) -> None:
    small(bandits(), tensorboard_log=str(tmp_path)).learn(16, tb_log_name="run")
    (directory,) = tmp_path.iterdir()
    assert directory.name == "run_1"
    assert any("tfevents" in name for name in os.listdir(directory))


def test_logged_episodes_are_those_of_the_batch() -> None:
    model = small(DummyVecEnv([WalkEnv] * 5))
    recorder = Recorder()
    model.learn(1, callback=recorder)
    assert model.ep_info_buffer is not None
    logged = sorted(episode["r"] for episode in model.ep_info_buffer)
    assert logged == pytest.approx(sorted(recorder.batches[0].scores))


@pytest.mark.parametrize("vector", [False, True])
def test_dict_observations(vector: bool) -> None:
    make = partial(WalkEnv, "dict", "discrete")
    env: Any = sync(make, 3) if vector else DummyVecEnv([make] * 3)
    model = GRPO("MultiInputPolicy", env, group_size=2, groups_per_batch=3, seed=0)
    assert model.learn(50).num_timesteps >= 50


def test_box_actions_stay_within_their_bounds() -> None:
    class Bounded(WalkEnv):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            assert self.action_space.contains(action)
            return super().step(action)

    recorder = Recorder()
    env = DummyVecEnv([partial(Bounded, "box", "box")] * 3)
    small(env).learn(50, callback=recorder)
    assert recorder.batches[0].actions.abs().max() > 1.0, "the batch keeps what the policy drew"


@pytest.mark.parametrize("vector", [False, True])
def test_a_reward_that_is_no_number_stops_the_run(vector: bool) -> None:
    model = small(sync(BrokenEnv) if vector else BrokenEnv())
    with pytest.raises(UnsupportedEnvironmentError, match="BrokenEnv"):
        model.learn(16)
    assert th.isfinite(parameters(model)).all()


def test_an_environment_id_and_device_auto() -> None:
    model = GRPO("MlpPolicy", "CartPole-v1", group_size=2, groups_per_batch=2, seed=0)
    before = parameters(model)
    model.learn(20)
    assert model.device.type in ("cpu", "cuda")
    assert not th.equal(parameters(model), before)


def test_a_gymnasium_vector_environment_by_id() -> None:
    def make(mode: AutoresetMode) -> Any:
        return gym.make_vec(
            "CartPole-v1",
            num_envs=3,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": mode},
        )

    small(make(AutoresetMode.DISABLED)).learn(20)
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        with pytest.raises(UnsupportedEnvironmentError, match="autoreset_mode"):
            small(make(mode))


@pytest.mark.slow
def test_sub_environments_in_other_processes() -> None:
    env: VecEnv = SubprocVecEnv([WalkEnv] * 3, start_method="spawn")
    try:
        parallel = small(env).learn(100)
    finally:
        env.close()
    serial = small(DummyVecEnv([WalkEnv] * 3)).learn(100)
    # This VecEnv leaves rewards in float64, DummyVecEnv does not.
    th.testing.assert_close(parameters(parallel), parameters(serial), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group_size", 1),
        ("groups_per_batch", 0),
        ("n_epochs", 0),
        ("minibatch_size", 0),
        ("clip_range", 0.0),
        ("normalize_advantage", "rank"),
    ],
)
def test_bad_arguments_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        small(bandits(), **{name: value})


def test_learning_without_an_environment(tmp_path: Path) -> None:
    small(bandits()).save(tmp_path / "model")
    with pytest.raises(ValueError, match="env=None"):
        GRPO.load(tmp_path / "model").learn(1)
