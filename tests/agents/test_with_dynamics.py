"""The agents under the reward wrappers on an environment that only has `step`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.stepping.toys import BlindDynamics, ExactDynamics, PointEnv, SparsePointEnv, play
from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.agents import GRPO, WeightedPPO
from wmrl_gym.world_models.dynamics import EnsembleDynamics

LANES = 16


def lanes(make: Any, mode: AutoresetMode = AutoresetMode.DISABLED, count: int = LANES) -> Any:
    return SyncVectorEnv([make] * count, autoreset_mode=mode)


def wrapped(base: Any, model: Any, **options: Any) -> WorldModelRewardVectorWrapper:
    options = {"anchor_fraction": 0.25, **options}
    return WorldModelRewardVectorWrapper(base, world_model=model, **options)


def success_rate(model: Any) -> float:
    infos = [play(PointEnv(ends=True), acting(model), seed=10_000 + i)[2] for i in range(50)]
    return float(np.mean([info["is_success"] for info in infos]))


def real_return(model: Any) -> float:
    return float(
        np.mean([sum(play(PointEnv(), acting(model), seed=10_000 + i)[0]) for i in range(50)])
    )


def acting(model: Any) -> Any:
    return lambda observation: model.predict(observation, deterministic=True)[0]


def assert_equal_policies(a: Any, b: Any) -> None:
    for x, y in zip(a.policy.parameters(), b.policy.parameters(), strict=True):
        assert th.equal(x, y)


@pytest.mark.parametrize(
    ("algorithm", "mode", "arguments"),
    [
        (GRPO, AutoresetMode.DISABLED, {"group_size": 4, "groups_per_batch": 4}),
        (WeightedPPO, AutoresetMode.SAME_STEP, {"n_steps": 8, "batch_size": 64}),
    ],
)
def test_a_useless_model_trains_the_same_policy_bit_for_bit(
    algorithm: Any, mode: AutoresetMode, arguments: dict[str, Any]
) -> None:
    plain = algorithm("MlpPolicy", lanes(SparsePointEnv, mode), seed=0, **arguments)
    plain.learn(LANES * 8 * 4)
    env = wrapped(lanes(PointEnv, mode), BlindDynamics())
    model = algorithm("MlpPolicy", env, seed=0, **arguments).learn(LANES * 8 * 4)
    assert_equal_policies(model, plain)
    assert env.anchored.totals.steps_imagined == 0


def test_members_of_a_group_start_together_and_are_of_one_source(caplog: Any) -> None:
    base = lanes(PointEnv, count=6)
    env = wrapped(base, ExactDynamics(), gate_threshold=0.0)
    seen: dict[int, set[int]] = {}

    class Watch(gym.vector.VectorWrapper[Any, Any, Any, Any, Any]):
        correction = env.correction
        update = env.update

        def step(self, actions: Any) -> Any:
            result = self.env.step(actions)
            for group, source in zip(
                result[-1]["wmrl/group"], result[-1]["wmrl/source"], strict=True
            ):
                seen.setdefault(int(group), set()).add(int(source))
            return result

    model = GRPO("MlpPolicy", Watch(env), group_size=4, groups_per_batch=6, seed=0)
    model.learn(6 * 4 * 8 * 2)
    assert len(seen) == model.groups_done
    assert all(len(sources) == 1 for sources in seen.values())
    assert "different observations" not in caplog.text
    # A quarter of the groups, each whole, and nothing else is stepped for real.
    anchors = sum(env.correction.is_anchor(group) for group in seen)
    assert env.anchored.totals.groups_real == anchors
    assert env.anchored.totals.episodes_real == 4 * anchors
    assert sum(e.unwrapped.stepped for e in base.envs) == env.anchored.totals.steps_real
    # Nothing starts twice: once before all, then once for each episode, and for idle lanes.
    begun = base.num_envs + 4 * model.groups_done
    assert begun <= sum(len(e.unwrapped.resets) for e in base.envs) < begun + base.num_envs


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    def fresh() -> WorldModelRewardVectorWrapper:
        return wrapped(lanes(PointEnv), ExactDynamics(low=0.1, high=0.4), gate_threshold=0.0)

    arguments = {"group_size": 4, "groups_per_batch": 4, "seed": 0}
    env = fresh()
    whole = GRPO("MlpPolicy", env, **arguments)
    whole.learn(LANES * 8 * 3).learn(LANES * 8 * 3, reset_num_timesteps=False)
    first = fresh()
    GRPO("MlpPolicy", first, **arguments).learn(LANES * 8 * 3).save(tmp_path / "model")
    second = fresh()
    second.load_state_dict(first.state_dict())
    resumed = GRPO.load(tmp_path / "model", env=second)  # type: ignore[arg-type]  # bridged
    resumed.learn(LANES * 8 * 3, reset_num_timesteps=False)
    assert_equal_policies(whole, resumed)
    assert second.correction.version == env.correction.version


@pytest.mark.slow
def test_grpo_learns_to_reach_in_imagination() -> None:
    env = wrapped(lanes(PointEnv, count=32), ExactDynamics(low=0.1, high=0.6))
    model = GRPO("MlpPolicy", env, group_size=8, groups_per_batch=16, learning_rate=1e-3, seed=0)
    assert success_rate(model) < 0.2
    model.learn(14_000)
    assert success_rate(model) > 0.8
    totals = env.anchored.totals
    assert totals.steps_imagined > totals.steps_real


@pytest.mark.slow
def test_ppo_learns_to_reach_with_dynamics_learned_on_the_way() -> None:
    dynamics = EnsembleDynamics(4, 2, members=2, hidden=64, chunk=4, updates=400, online_updates=20)
    env = wrapped(
        lanes(PointEnv, AutoresetMode.SAME_STEP, count=32),
        dynamics,
        anchor_fraction=0.1,
        score="return",
        score_bounds=(-30.0, 8.0),
    )
    model = WeightedPPO("MlpPolicy", env, n_steps=32, batch_size=256, learning_rate=1e-3, seed=0)
    # The best that there is, straight to the goal and no further, is 6.5.
    assert real_return(model) < 2.0
    model.learn(11_000)
    assert real_return(model) > 5.0
    totals = env.anchored.totals
    assert totals.steps_imagined > totals.steps_real
