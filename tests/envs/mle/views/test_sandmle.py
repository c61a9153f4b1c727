"""Milestone rewards against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.envs.mle.views.strategies import directions, leaderboards, negated, scores
from wmrl_gym.envs.mle.views import (
    MedalThresholds,
    medal_thresholds,
    milestone_reward,
    sparse_milestone_reward,
)

ERRORS = MedalThresholds(gold=1.0, silver=2.0, bronze=3.0, median=4.0, higher_is_better=False)
SHARES = MedalThresholds(gold=0.9, silver=0.8, bronze=0.7, median=0.6, higher_is_better=True)
rates = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("score", "dense", "sparse"),
    [
        (0.5, 1.0, 1.0),
        (1.0, 1.0, 1.0),
        (1.5, 0.9, 0.1),
        (2.0, 0.9, 0.1),
        (3.0, 0.8, 0.1),
        (4.0, 0.4, 0.1),
        (4.5, 0.3, 0.1),
        (None, 0.1, 0.1),
    ],
)
def test_rewards_in_perfect_format(score: float | None, dense: float, sparse: float) -> None:
    assert milestone_reward(score, thresholds=ERRORS, format_rate=1.0) == dense
    assert sparse_milestone_reward(score, thresholds=ERRORS, format_rate=1.0) == sparse


@pytest.mark.parametrize(
    ("score", "format_rate", "dense", "sparse"),
    [
        (0.95, 0.0, 0.9, 0.9),
        (0.6, 0.5, 0.35, 0.05),
        (0.1, 0.0, 0.2, 0.0),
        (None, 0.0, 0.0, 0.0),
        (None, 0.25, 0.025, 0.025),
    ],
)
def test_the_format_counts_a_tenth(
    score: float | None, format_rate: float, dense: float, sparse: float
) -> None:
    found = milestone_reward(score, thresholds=SHARES, format_rate=format_rate)
    assert found == pytest.approx(dense)
    found = sparse_milestone_reward(score, thresholds=SHARES, format_rate=format_rate)
    assert found == pytest.approx(sparse)


@pytest.mark.parametrize("view", [milestone_reward, sparse_milestone_reward])
def test_wrong_numbers_are_refused(view: Callable[..., float]) -> None:
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="format_rate="):
            view(0.5, thresholds=SHARES, format_rate=rate)
    for score in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="score="):
            view(score, thresholds=SHARES, format_rate=1.0)


@given(board=leaderboards, pair=st.tuples(scores, scores), rate=rates, higher_is_better=directions)
def test_bounded_monotone_and_symmetric(
    board: list[float], pair: tuple[float, float], rate: float, higher_is_better: bool
) -> None:
    plain = medal_thresholds(board, higher_is_better=higher_is_better)
    mirrored = medal_thresholds(negated(board), higher_is_better=not higher_is_better)
    worse, better = sorted(pair, reverse=not higher_is_better)
    for view in (milestone_reward, sparse_milestone_reward):
        nothing = view(None, thresholds=plain, format_rate=rate)
        low, high = (view(score, thresholds=plain, format_rate=rate) for score in (worse, better))
        assert 0.0 <= nothing <= low <= high <= 1.0
        assert view(-better, thresholds=mirrored, format_rate=rate) == high
