"""Both wrappers behave alike, and leave the environment alone."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.wrappers.harness import (
    KEYS,
    LENGTHS,
    MODES,
    OPTIONS,
    assert_same,
    make,
    play,
    toy,
    wrapped_toy,
)
from tests.wrappers.toys import CountingEnv, CountingExecutor, SquareWorldModel, true_score
from wmrl_gym import (
    BatchedExecution,
    Source,
    WorldModelRewardVectorWrapper,
    WorldModelRewardWrapper,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_two_wrappers_are_equal(kind: str, mode: AutoresetMode) -> None:
    expected = play(make("sync", wrapped_toy, mode))
    vector = make(kind, toy, mode)
    wrapper = WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel(), **OPTIONS)
    actual = play(wrapper)
    assert len(actual) == len(expected)
    for step, (a, b) in enumerate(zip(actual, expected, strict=True)):
        for part, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"step {step}, part {part}")


@pytest.mark.parametrize("mode", MODES)
def test_each_vector_step_is_one_batch_and_dummy_rows_execute_nothing(mode: AutoresetMode) -> None:
    model, real = SquareWorldModel(), CountingExecutor()
    batched = BatchedExecution(make("sync", toy, mode), executor=real)
    env = WorldModelRewardVectorWrapper(batched, world_model=model, **OPTIONS)
    env.reset(seed=0)
    done = np.zeros(3, dtype=bool)
    expected = []
    for _ in range(12):
        live = int((~done).sum()) if mode is AutoresetMode.NEXT_STEP else 3
        # A step of nothing but dummy rows asks the model nothing at all.
        expected += [live] if live else []
        _, rewards, term, trunc, infos = env.step(np.zeros(3, dtype=np.int64))
        if mode is AutoresetMode.NEXT_STEP:
            assert np.all(rewards[done] == 0.0)
            assert np.all(infos["wmrl/source"][done] == Source.NONE)
        done = np.logical_or(term, trunc)
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done})
    assert model.batches == expected
    assert len(real.batches) <= 12


def test_wrapping_changes_nothing_but_the_reward() -> None:
    bare, wrapped = toy(1), wrapped_toy(1)
    for seed in (5, None, None):
        a, b = bare.reset(seed=seed), wrapped.reset(seed=seed)
        np.testing.assert_array_equal(a[0], b[0])
        for action in (0, 4, 2):
            x, y = bare.step(action), wrapped.step(action)
            np.testing.assert_array_equal(x[0], y[0])
            assert x[2] is y[2]
            assert x[3] is y[3]
            assert x[4].items() <= y[4].items()
    assert bare.np_random.bit_generator.state == wrapped.np_random.bit_generator.state


def test_info_is_flat_total_and_of_fixed_types() -> None:
    env = wrapped_toy(1)
    for _ in range(6):
        _, info = env.reset()
        infos = [info]
        for action in (4, 1, 2):
            infos.append(env.step(action)[4])
        for info in infos:
            assert {k: type(v) for k, v in info.items() if k.startswith("wmrl/")} == KEYS


def test_anchor_episode_has_the_pair_and_model_episode_has_no_truth() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=2), world_model=SquareWorldModel(), anchor_fraction=0.5, seed=0
    )
    seen = set()
    for group in range(8):
        env.reset(seed=1, options={"group": group})
        rewards = [env.step(1)[1]]
        _, reward, _, _, info = env.step(2)
        rewards.append(reward)
        true = [true_score("0:0:1"), true_score("0:1:2")]
        seen.add(info["wmrl/anchor"])
        assert info["wmrl/group"] == group
        assert info["wmrl/score_predicted"] == pytest.approx(max(true) ** 2)
        if info["wmrl/anchor"]:
            assert info["wmrl/source"] == Source.REAL
            assert info["wmrl/score_true"] == max(true)
            assert rewards == true
            assert info["wmrl/seconds"] == 4.0
        else:
            assert info["wmrl/source"] == Source.PREDICTED
            assert np.isnan(info["wmrl/score_true"])
            # Before there are enough pairs the map is the identity.
            assert rewards == pytest.approx([t**2 for t in true])
            assert info["wmrl/seconds"] == 2.0
    assert seen == {True, False}


def test_update_feeds_pairs_back_once_and_raises_the_version() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1),
        world_model=SquareWorldModel(),
        anchor_fraction=1.0,
        correction_options={"min_pairs": 4},
    )
    for _ in range(6):
        env.reset()
        env.step(1)
    version = env.correction.version
    assert not env.correction.calibrated
    diagnostics = env.update()
    assert diagnostics["pairs"] == 6
    assert env.correction.version == version + 1
    assert env.correction.calibrated
    assert env.anchored.world_model.learned == 6
    assert env.update()["pairs"] == 6
    assert env.anchored.world_model.learned == 6


def test_an_open_group_keeps_its_map_across_an_update() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=2),
        world_model=SquareWorldModel(),
        anchor_fraction=0.5,
        correction_options={"min_pairs": 2},
    )
    anchors = [g for g in range(40) if env.correction.is_anchor(g)]
    model_group = next(g for g in range(40) if not env.correction.is_anchor(g))
    for g in anchors[:10]:
        env.reset(options={"group": g})
        env.step(1)
        env.step(1)
    env.reset(options={"group": model_group})
    before = env.step(1)[4]["wmrl/version"]
    env.update()
    assert env.correction.version == before + 1
    info = env.step(1)[4]
    assert info["wmrl/version"] == before
    # Another member of the group, begun after the update, is on the same scale.
    env.reset(options={"group": model_group})
    assert env.step(1)[4]["wmrl/version"] == before
    env.reset(options={"group": model_group})
    env.update()
    env.reset(options={"group": model_group + 1000})
    assert env.step(1)[4]["wmrl/version"] > before


def test_groups_run_for_real_until_the_model_is_ready() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1), world_model=SquareWorldModel(ready_after=3), anchor_fraction=0.0
    )
    sources = []
    for _ in range(5):
        env.reset()
        info = env.step(1)[4]
        sources.append((info["wmrl/source"], info["wmrl/anchor"]))
        if len(sources) == 3:
            env.update()
    assert sources == [(Source.REAL, False)] * 3 + [(Source.PREDICTED, False)] * 2


class BrokenEnv(CountingEnv):
    """Its executor fails at the second step."""

    def propose(self, action: int) -> Any:
        execution = super().propose(action)
        if execution is None or self._time != 1:
            return execution
        return type(execution)(task="count", artifact="broken")


def test_a_failed_anchor_has_no_score_and_leaves_no_pair() -> None:
    env = WorldModelRewardWrapper(
        BrokenEnv(length=3), world_model=SquareWorldModel(), anchor_fraction=1.0
    )
    env.reset()
    assert env.step(1)[4]["wmrl/valid"] is True
    _, reward, _, _, info = env.step(1)
    assert (reward, info["wmrl/valid"]) == (0.0, False)
    # The episode stays without a score, whatever comes after.
    assert env.step(1)[4]["wmrl/valid"] is False
    diagnostics = env.update()
    assert diagnostics["pairs"] == 0
    assert diagnostics["unscored"] == 1


def test_an_episode_given_up_leaves_no_pair_and_no_trace() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=3), world_model=SquareWorldModel(), anchor_fraction=1.0
    )
    env.reset()
    env.step(1)
    _, info = env.reset()
    assert info["wmrl/seconds"] == 0.0
    assert np.isnan(info["wmrl/score_true"])
    assert env.update()["pairs"] == 0


def test_partial_reset_leaves_the_others_and_the_callers_options_alone() -> None:
    env = WorldModelRewardVectorWrapper(
        make("sync", toy, AutoresetMode.DISABLED), world_model=SquareWorldModel(), **OPTIONS
    )
    env.reset(seed=0, options={"group": [10, 20, 30]})
    *_, infos = env.step(np.array([1, 1, 1]))
    *_, infos = env.step(np.array([1, 1, 1]))
    options = {"reset_mask": np.array([True, False, False]), "group": 40}
    env.reset(options=options)
    assert options["reset_mask"].tolist() == [True, False, False]
    *_, infos = env.step(np.array([1, 1, 1]))
    assert infos["wmrl/group"].tolist() == [40, 20, 30]
    assert infos["time"].tolist() == [1, 3, 3]


def test_other_vector_wrappers_may_lie_between() -> None:
    vector = gym.wrappers.vector.RecordEpisodeStatistics(
        BatchedExecution(make("sync", toy, AutoresetMode.NEXT_STEP))
    )
    env = WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel(), **OPTIONS)
    env.reset(seed=0)
    for _ in range(6):
        *_, infos = env.step(np.array([1, 1, 1]))
    assert "wmrl/group" in infos
    assert env.get_attr("length") == LENGTHS
    assert env.call("render")


@pytest.mark.parametrize("fraction", [0.1, 0.25])
def test_the_share_of_real_groups_is_exact(fraction: float) -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1), world_model=SquareWorldModel(), anchor_fraction=fraction
    )
    for _ in range(2000):
        env.reset()
        env.step(1)
    assert env.anchored.totals.groups_real == 2000 * fraction
