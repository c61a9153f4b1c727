"""The vector twin equals the single wrapper step by step, and steps anchors only."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import error
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from tests.stepping.toys import (
    DistanceJudge,
    ExactDynamics,
    GoalPointEnv,
    PointEnv,
    straight,
)
from tests.wrappers.harness import assert_same
from wmrl_gym import Source, WorldModelRewardVectorWrapper, WorldModelRewardWrapper

MODES = list(AutoresetMode)
OPTIONS: dict[str, Any] = {"anchor_fraction": 0.5, "seed": 3, "gate_threshold": 0.0, "horizon": 6}
COUNT = 3


def bare(i: int) -> PointEnv:
    return PointEnv(ends=i == 1)


def limited(i: int) -> PointEnv:
    return PointEnv(horizon=6, ends=i == 1)


def single(i: int, model: Any = ExactDynamics) -> gym.Env[Any, Any]:
    return WorldModelRewardWrapper(
        bare(i), world_model=model(), first_group=i, group_stride=COUNT, **OPTIONS
    )


def make(
    kind: str, mode: AutoresetMode, factory: Any = bare, **arguments: Any
) -> SyncVectorEnv | AsyncVectorEnv:
    factories = [partial(factory, i) for i in range(COUNT)]
    if kind == "sync":
        return SyncVectorEnv(factories, autoreset_mode=mode)
    return AsyncVectorEnv(
        factories, autoreset_mode=mode, shared_memory=kind == "async", **arguments
    )


def record(env: VectorEnv[Any, Any, Any], steps: int = 40) -> list[Any]:
    """A fixed run with an explicit reset in its middle, without the times that it took."""
    rng = np.random.default_rng(0)
    log: list[Any] = [env.reset(seed=11)]
    for step in range(steps):
        goals = np.asarray(log[-1][0])[:, 2:] - np.asarray(log[-1][0])[:, :2]
        actions = goals + rng.normal(size=goals.shape)
        log.append(copy.deepcopy(env.step(actions.astype(np.float32))))
        done = np.logical_or(log[-1][2], log[-1][3])
        if step == steps // 2:
            log.append(env.reset(seed=[5, 6, 7], options={"hint": 1}))
        elif env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            log.append(env.reset(options={"reset_mask": done}))
    env.close()
    for entry in log:
        for infos in (entry[-1], entry[-1].get("final_info", {})):
            infos.pop("wmrl/seconds", None)
            infos.pop("_wmrl/seconds", None)
    return log


def assert_equal_runs(actual: list[Any], expected: list[Any]) -> None:
    assert len(actual) == len(expected)
    for step, (a, b) in enumerate(zip(actual, expected, strict=True)):
        for part, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"step {step}, part {part}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sync", "async", "async without shared memory"])
@pytest.mark.parametrize("model", [ExactDynamics, DistanceJudge])
def test_the_two_wrappers_are_equal(kind: str, mode: AutoresetMode, model: Any) -> None:
    expected = record(make("sync", mode, partial(single, model=model)))
    env = WorldModelRewardVectorWrapper(make(kind, mode), world_model=model(), **OPTIONS)
    assert_equal_runs(record(env), expected)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_anchors_only_are_the_vector_environment_itself(kind: str, mode: AutoresetMode) -> None:
    options = {**OPTIONS, "anchor_fraction": 1.0, "score": "return", "score_bounds": (-30, 30)}
    expected = record(make("sync", mode, limited))
    env = WorldModelRewardVectorWrapper(
        make(kind, mode, limited), world_model=ExactDynamics(), **options
    )
    for a, b in zip(record(env), expected, strict=True):
        for x, y in zip(a[:-1], b[:-1], strict=True):
            assert_same(x, y, "outputs")
        assert a[-1].keys() >= b[-1].keys()


@pytest.mark.parametrize("mode", MODES)
def test_each_step_is_one_forward_pass_and_only_anchors_are_stepped(mode: AutoresetMode) -> None:
    model, base = ExactDynamics(), make("sync", mode)
    env = WorldModelRewardVectorWrapper(base, world_model=model, **OPTIONS)
    env.reset(seed=0)
    done, real, imagined, batches = np.zeros(COUNT, dtype=bool), 0, 0, []
    for _ in range(40):
        live = ~done if mode is AutoresetMode.NEXT_STEP else np.ones(COUNT, dtype=bool)
        *_, terminated, truncated, infos = env.step(np.zeros((COUNT, 2), dtype=np.float32))
        sources = infos["wmrl/source"].copy()
        done = np.logical_or(terminated, truncated)
        if mode is AutoresetMode.SAME_STEP and done.any():
            sources[done] = infos["final_info"]["wmrl/source"][done]
        real += int((sources[live] == Source.REAL).sum())
        imagined += int((sources[live] == Source.PREDICTED).sum())
        batches += [int(live.sum())] if live.any() else []
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done})
    assert model.batches == batches
    assert sum(e.unwrapped.stepped for e in base.envs) == real == env.anchored.totals.steps_real
    assert imagined == env.anchored.totals.steps_imagined > 0


def test_the_true_final_observation_survives_the_reset_of_the_same_step() -> None:
    env = WorldModelRewardVectorWrapper(
        make("sync", AutoresetMode.SAME_STEP), world_model=ExactDynamics(), **OPTIONS
    )
    observations, _ = env.reset(seed=0)
    infos: dict[str, Any] = {}
    while "final_obs" not in infos:
        actions = np.stack([straight(row) for row in observations])
        observations, rewards, terminated, _, infos = env.step(actions)
    for i in np.flatnonzero(terminated):
        final = infos["final_obs"][i]
        assert np.linalg.norm(final[:2] - final[2:]) < 0.15
        assert rewards[i] == infos["final_info"]["wmrl/score_calibrated"][i] == 1.0
        np.testing.assert_array_equal(observations[i][:2], [0.0, 0.0])


def test_dict_observations_in_other_processes() -> None:
    env = WorldModelRewardVectorWrapper(
        AsyncVectorEnv([GoalPointEnv] * 2), world_model=DistanceJudge(), **OPTIONS
    )
    observations, _ = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    observations, *_ = env.step(np.ones((2, 2), dtype=np.float32))
    assert env.observation_space.contains(observations)
    np.testing.assert_allclose(observations["observation"], 0.25)
    assert env.get_attr("horizon") == (8, 8)
    env.close()


def test_groups_by_lane_and_partial_resets_leave_the_others_alone() -> None:
    base = make("sync", AutoresetMode.DISABLED)
    env = WorldModelRewardVectorWrapper(base, world_model=ExactDynamics(), **OPTIONS)
    env.reset(seed=0, options={"group": [10, 20, 30]})
    actions = np.zeros((COUNT, 2), dtype=np.float32)
    env.step(actions)
    mask = np.array([True, False, False])
    options = {"reset_mask": mask, "group": 40, "init_state_id": 2}
    _, infos = env.reset(seed=[9, None, None], options=options)
    assert options == {"reset_mask": mask, "group": 40, "init_state_id": 2}
    assert infos["_wmrl/group"].tolist() == [True, False, False]
    *_, infos = env.step(actions)
    assert infos["wmrl/group"].tolist() == [40, 20, 30]
    assert base.envs[0].unwrapped.resets[-1] == (9, {"init_state_id": 2, "group": 40})
    assert len(base.envs[1].unwrapped.resets) == 1


def test_a_lane_that_has_ended_wants_a_reset() -> None:
    env = WorldModelRewardVectorWrapper(
        make("sync", AutoresetMode.DISABLED), world_model=ExactDynamics(), **OPTIONS
    )
    env.reset(seed=0)
    for _ in range(6):
        env.step(np.zeros((COUNT, 2), dtype=np.float32))
    with pytest.raises(error.ResetNeeded, match=r"\[0, 1, 2\] have ended"):
        env.step(np.zeros((COUNT, 2), dtype=np.float32))


class Faulty(PointEnv):
    """Breaks at its second step."""

    def step(self, action: Any) -> Any:
        if self.time == 1:
            raise ArithmeticError("the simulator broke")
        return super().step(action)


def faulty(i: int) -> PointEnv:
    return Faulty() if i == 1 else PointEnv()


@pytest.mark.filterwarnings("ignore::UserWarning")  # gymnasium reports what its workers raise
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_a_sub_environment_raises_arrives(kind: str) -> None:
    env = WorldModelRewardVectorWrapper(
        make(kind, AutoresetMode.NEXT_STEP, faulty),
        world_model=ExactDynamics(),
        **{**OPTIONS, "anchor_fraction": 1.0},
    )
    env.reset(seed=0)
    env.step(np.zeros((COUNT, 2), dtype=np.float32))
    with pytest.raises(ArithmeticError, match="the simulator broke"):
        env.step(np.zeros((COUNT, 2), dtype=np.float32))
    env.close()
