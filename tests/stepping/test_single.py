"""The wrapper on a single environment that only has `step`, with numbers known in advance."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.stepping.toys import (
    BlindDynamics,
    ExactDynamics,
    GoalPointEnv,
    LostDynamics,
    PointEnv,
    SparsePointEnv,
    astray,
    play,
    straight,
)
from tests.wrappers.harness import KEYS
from wmrl_gym import Source, WorldModelRewardWrapper


def wrapped(env: Any = None, model: Any = None, **options: Any) -> WorldModelRewardWrapper:
    options = {"anchor_fraction": 0.5, "gate_threshold": 0.0, **options}
    env, model = env or PointEnv(), model or ExactDynamics()
    return WorldModelRewardWrapper(env, world_model=model, **options)


def groups(env: WorldModelRewardWrapper, *, anchor: bool, count: int = 1) -> list[int]:
    return [g for g in range(1000) if env.correction.is_anchor(g) is anchor][:count]


def test_a_perfect_model_imagines_exactly_what_happens() -> None:
    env = wrapped()
    (real,), (imagined,) = groups(env, anchor=True), groups(env, anchor=False)
    rewards, observations, info = play(env, straight, seed=3, options={"group": real})
    # The goal is 1 away and a stride is 0.25: near enough, 0.15, after four steps.
    assert rewards == [0.0, 0.0, 0.0, 1.0]
    assert info["wmrl/source"] == Source.REAL
    assert (info["wmrl/score_predicted"], info["wmrl/score_true"]) == (1.0, 1.0)
    dreamt, seen, info = play(env, straight, seed=3, options={"group": imagined})
    assert dreamt == rewards
    np.testing.assert_array_equal(seen, observations)
    assert info["wmrl/source"] == Source.PREDICTED
    assert np.isnan(info["wmrl/score_true"])
    assert env.unwrapped.stepped == 4
    assert env.anchored.totals.steps_imagined == 4


@pytest.mark.parametrize("anchor", [True, False])
def test_failure_runs_to_the_horizon_and_is_truncated(anchor: bool) -> None:
    env = wrapped(horizon=5)
    (group,) = groups(env, anchor=anchor)
    env.reset(seed=0, options={"group": group})
    for step in range(5):
        _, reward, terminated, truncated, _ = env.step(np.array([0.0, 0.0]))
        assert (reward, terminated, truncated) == (0.0, False, step == 4)
        assert type(terminated) is bool
        assert type(truncated) is bool


def test_an_imagined_episode_ends_once_it_has_more_likely_ended_than_not() -> None:
    class Hazardous(ExactDynamics):
        def step(self, observations: Any, actions: Any) -> Any:
            step = super().step(observations, actions)
            return replace(step, termination=np.full(len(actions), 0.3))

    env = wrapped(model=Hazardous())
    (group,) = groups(env, anchor=False)
    env.reset(seed=0, options={"group": group})
    ends = [env.step(np.array([0.0, 0.0]))[2:4] for _ in range(2)]
    # It goes on with 0.7 after a step, and with 0.49 after two.
    assert ends == [(False, False), (True, False)]


def test_return_is_the_sum_of_rewards_and_its_correction_comes_last() -> None:
    env = wrapped(
        model=ExactDynamics(bias=0.5),
        score="return",
        score_bounds=(-8.0, 16.0),
        correction_options={"min_pairs": 2},
    )
    true = play(PointEnv(), straight, seed=3)[0]
    for group in groups(env, anchor=True, count=20):
        policy = straight if group % 2 else astray
        rewards, _, info = play(env, policy, seed=group, options={"group": group})
        # An anchor gives the environment's own rewards, unchanged.
        assert rewards == play(PointEnv(), policy, seed=group)[0]
        assert info["wmrl/score_predicted"] == pytest.approx(sum(rewards) + 8 * 0.5)
    (group,) = groups(env, anchor=False)
    rewards, _, info = play(env, straight, seed=3, options={"group": group})
    assert sum(rewards) == pytest.approx(sum(true) + 4.0)  # the identity, before the update
    env.update()
    group = groups(env, anchor=False, count=2)[1]
    rewards, _, info = play(env, straight, seed=3, options={"group": group})
    assert info["wmrl/score_predicted"] == pytest.approx(sum(true) + 4.0)
    assert sum(rewards) == pytest.approx(info["wmrl/score_calibrated"])
    assert sum(rewards) == pytest.approx(sum(true), abs=0.05)
    assert rewards[:-1] == pytest.approx([r + 0.5 for r in true[:-1]])


def test_a_biased_model_is_corrected_by_the_map() -> None:
    env = wrapped(model=ExactDynamics(low=0.3, high=0.49), correction_options={"min_pairs": 4})
    for group in groups(env, anchor=True, count=40):
        play(env, straight if group % 2 else astray, seed=group, options={"group": group})
    env.update()
    one, two = groups(env, anchor=False, count=2)
    good, _, info = play(env, straight, seed=1, options={"group": one})
    assert info["wmrl/score_predicted"] == 0.49
    assert sum(good) == pytest.approx(1.0, abs=0.02)
    bad = play(env, astray, seed=1, options={"group": two})[0]
    assert sum(bad) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_useless_model_changes_nothing(noise: float, caplog: Any) -> None:
    plain = SparsePointEnv(noise=noise)
    env = wrapped(PointEnv(noise=noise), BlindDynamics(), anchor_fraction=0.1, gate_threshold=0.7)
    rng = np.random.default_rng(0)
    with caplog.at_level(logging.INFO, logger="wmrl_gym"):
        for episode in range(120):
            policy = straight if rng.random() < 0.5 else astray
            expected, observations, _ = play(plain, policy, seed=episode)
            rewards, seen, info = play(env, policy, seed=episode)
            assert rewards == expected
            np.testing.assert_array_equal(seen, observations)
            assert info["wmrl/source"] == Source.REAL
            if episode % 10 == 9:
                diagnostics = env.update()
    assert diagnostics["gate/open"] == 0.0
    assert diagnostics["gate/point/pairs"] == 100.0  # 50 of either kind
    assert diagnostics["gate/point/lower"] < 0.7
    assert env.anchored.totals.steps_imagined == 0
    # Weighted like an anchor, and so are all the others: the algorithm is the plain one.
    assert info["wmrl/weight"] > 1.0
    assert not caplog.records


def test_the_gate_opens_for_a_good_model_and_says_so_once(caplog: Any) -> None:
    env = wrapped(anchor_fraction=0.25, gate_threshold=0.7, correction_options={"min_pairs": 10})
    sources, opened = [], []
    with caplog.at_level(logging.INFO, logger="wmrl_gym"):
        for episode in range(80):
            policy = straight if episode % 2 else astray
            sources.append(play(env, policy, seed=episode)[2]["wmrl/source"])
            if episode % 10 == 9:
                opened.append(env.update()["gate/open"])
    # 20 pairs that are ranked without a fault, 10 of them successes, are enough.
    assert opened == [0.0] + [1.0] * 7
    assert sources[:20] == [Source.REAL] * 20
    # A quarter of each block of four groups.
    assert sources[20:].count(Source.REAL) == 15
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "may be imagined" in caplog.text


def test_no_success_yet_keeps_the_gate_shut() -> None:
    env = wrapped(gate_threshold=0.7, correction_options={"min_pairs": 10})
    for episode in range(60):
        play(env, astray, seed=episode)
    assert env.update()["gate/open"] == 0.0
    assert play(env, astray, seed=0)[2]["wmrl/source"] == Source.REAL


def test_a_group_keeps_its_source_and_its_map_across_an_update() -> None:
    env = wrapped(model=ExactDynamics(ready_after=1), anchor_fraction=0.0)
    env.reset(seed=0, options={"group": 5})
    env.step(np.zeros(2))
    play(env, straight, seed=0, options={"group": 5})
    env.reset(seed=0, options={"group": 5})
    assert env.step(np.zeros(2))[4]["wmrl/source"] == Source.REAL
    env.update()
    assert env.anchored.world_model.ready("point")
    assert env.step(np.zeros(2))[4]["wmrl/source"] == Source.REAL
    assert play(env, straight, seed=0, options={"group": 5})[2]["wmrl/source"] == Source.REAL
    assert play(env, straight, seed=0, options={"group": 6})[2]["wmrl/source"] == Source.PREDICTED


def test_a_model_that_loses_its_way_gives_no_score() -> None:
    env = wrapped(model=LostDynamics())
    (real,), (imagined,) = groups(env, anchor=True), groups(env, anchor=False)
    rewards, _, info = play(env, straight, seed=0, options={"group": real})
    assert (sum(rewards), info["wmrl/valid"]) == (1.0, True)
    assert np.isnan(info["wmrl/score_predicted"])
    rewards, observations, info = play(env, straight, seed=0, options={"group": imagined})
    assert (sum(rewards), info["wmrl/valid"]) == (0.0, False)
    assert np.isfinite(observations).all()
    assert len(rewards) < 4
    assert env.update()["unscored"] == 1
    assert env.correction.diagnostics()["pairs"] == 0


def test_an_episode_given_up_leaves_nothing() -> None:
    env = wrapped(anchor_fraction=1.0)
    env.reset(seed=0)
    env.step(np.zeros(2))
    env.reset(seed=0)
    assert env.update()["pairs"] == 0
    assert env.anchored.world_model.learned == []


def test_info_is_flat_total_and_of_fixed_types() -> None:
    env = wrapped()
    for seed in range(4):  # none of these goals lies where the steps lead
        _, info = env.reset(seed=seed)
        infos = [info]
        for _ in range(4):
            infos.append(env.step(np.ones(2))[4])
        for info in infos:
            assert {k: type(v) for k, v in info.items() if k.startswith("wmrl/")} == KEYS
        # What the environment does not vary within an episode is there in any case.
        assert info["wmrl/source"] == Source.REAL or info["instruction"] == "go there"


def test_goal_conditioned_observations_come_back_in_their_own_shape() -> None:
    env = wrapped(GoalPointEnv(), GoalDynamics())
    (real,), (imagined,) = groups(env, anchor=True), groups(env, anchor=False)

    def policy(observation: Any) -> Any:
        return straight(np.concatenate([observation["observation"], observation["desired_goal"]]))

    _, expected, _ = play(env, policy, seed=2, options={"group": real})
    _, actual, info = play(env, policy, seed=2, options={"group": imagined})
    assert info["wmrl/source"] == Source.PREDICTED
    for a, b in zip(actual, expected, strict=True):
        assert env.observation_space.contains(a)
        for key in env.observation_space:
            np.testing.assert_array_equal(a[key], b[key])
    # What hindsight replay needs is the environment's own.
    assert env.get_wrapper_attr("compute_reward")([0.0, 3.0], [4.0, 0.0], {}) == -5.0


class GoalDynamics(ExactDynamics):
    """Takes achieved goal, desired goal and observation, in alphabetical order."""

    observation_size = 6

    def step(self, observations: Any, actions: Any) -> Any:
        step = super().step(observations[:, [0, 1, 2, 3]], actions)
        following = np.concatenate([step.observations, step.observations[:, :2]], axis=1)
        return type(step)(following, step.rewards, step.success, step.uncertainty, step.termination)


def test_a_score_of_ones_own_by_entry_point() -> None:
    env = wrapped(score="tests.stepping.toys:closeness")
    (real,), (imagined,) = groups(env, anchor=True), groups(env, anchor=False)

    def onward(_: Any) -> Any:
        return np.array([0.5, 0.0])

    for group in (real, imagined):
        rewards, observations, info = play(env, onward, seed=4, options={"group": group})
        assert rewards[:-1] == [0.0] * 7
        # Eight steps of half a stride take it from the origin to (1, 0).
        goal = observations[0][2:]
        assert rewards[-1] == pytest.approx(max(0.0, 1.0 - np.linalg.norm(goal - [1.0, 0.0])))
        assert info["wmrl/source"] == (Source.REAL if group == real else Source.PREDICTED)


def test_members_of_a_group_that_start_apart_are_noticed_once(caplog: Any) -> None:
    env = wrapped()
    for seed in (1, 1, 2, 3):
        play(env, straight, seed=seed, options={"group": 4})
    assert caplog.text.count("start from different observations") == 1


def test_anchors_of_a_noisy_environment_are_what_they_would_be_without() -> None:
    plain, env = PointEnv(noise=0.2), wrapped(PointEnv(noise=0.2))
    (real,), (imagined,) = groups(env, anchor=True), groups(env, anchor=False)
    play(env, straight, seed=1, options={"group": imagined})
    expected = play(plain, straight, seed=7)[1][:4]
    seen = play(env, straight, seed=7, options={"group": real})[1][:4]
    np.testing.assert_array_equal(seen, expected)
