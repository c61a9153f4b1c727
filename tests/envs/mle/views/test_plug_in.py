"""Every view as a function of the metric alone, as trainers plug it in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from wmrl_gym.envs.mle.views import (
    ladder,
    medal_reward,
    medal_thresholds,
    milestone_reward,
    normalised_score,
    performance_gap,
    position_score,
    sparse_milestone_reward,
)
from wmrl_gym.outcomes import Status

BOARD = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
LOWER = {"higher_is_better": False}
THRESHOLDS = medal_thresholds(BOARD, **LOWER)
REWARDS: list[Callable[[float | None], float]] = [
    partial(medal_reward, thresholds=THRESHOLDS),
    partial(position_score, private=BOARD, public=BOARD[::2], **LOWER),
    partial(performance_gap, baseline=10.0, ground_truth=0.0, **LOWER),
    partial(milestone_reward, thresholds=THRESHOLDS, format_rate=1.0),
    partial(sparse_milestone_reward, thresholds=THRESHOLDS, format_rate=1.0),
    partial(normalised_score, worst=10.0, state_of_the_art=1.0, optimum=0.0, **LOWER),
]


@pytest.mark.parametrize("reward", REWARDS)
def test_a_reward_of_the_metric_alone(reward: Callable[[float | None], float]) -> None:
    nothing, poor, good = reward(None), reward(9.5), reward(0.5)
    assert {type(nothing), type(poor), type(good)} == {float}
    assert nothing <= poor < good


def test_the_ladder_of_the_paper_is_one_of_them() -> None:
    assert ladder(Status.UNSCORED) is None
    assert ladder(Status.COMPLETED, 0.5) == 0.75
