"""Medals against MLE-bench's rank table and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.envs.mle.views.strategies import directions, leaderboards, negated, scores
from wmrl_gym.envs.mle.views import (
    Medals,
    MedalThresholds,
    award,
    medal_ranks,
    medal_reward,
    medal_thresholds,
)

GOLD, SILVER, BRONZE = (Medals(**{f"{m}_medal": True}) for m in ("gold", "silver", "bronze"))


@pytest.mark.parametrize(
    ("teams", "gold", "silver", "bronze"),
    [
        (1, 1, 1, 1),
        (5, 1, 1, 2),
        (50, 5, 10, 20),
        (99, 9, 19, 39),
        (100, 10, 20, 40),
        (249, 10, 49, 99),
        (250, 10, 50, 100),
        (999, 11, 50, 100),
        (1000, 12, 50, 100),
        (5000, 20, 250, 500),
    ],
)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_thresholds_are_the_scores_at_the_published_ranks(
    teams: int, gold: int, silver: int, bronze: int, higher_is_better: bool
) -> None:
    assert medal_ranks(teams) == (gold, silver, bronze)
    # The team at rank r scores -r or r; the order of the file does not matter.
    sign = -1 if higher_is_better else 1
    board = [float(sign * rank) for rank in range(1, teams + 1)]
    shuffled = np.random.default_rng(0).permutation(board).tolist()
    thresholds = medal_thresholds(shuffled, higher_is_better=higher_is_better)
    assert thresholds.gold == sign * gold
    assert thresholds.silver == sign * silver
    assert thresholds.bronze == sign * bronze
    assert thresholds.median == sign * (teams + 1) / 2


@pytest.mark.parametrize("teams", [0, -3])
def test_ranks_need_a_team(teams: int) -> None:
    with pytest.raises(ValueError, match=f"teams={teams}"):
        medal_ranks(teams)


# Ten teams: gold is rank 1, silver rank 2, bronze rank 4; the median is between 5 and 6.
TEN = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]


@pytest.mark.parametrize(
    ("score", "medal", "above_median"),
    [
        (0.95, GOLD, True),
        (0.9, GOLD, True),
        (0.85, SILVER, True),
        (0.8, SILVER, True),
        (0.7, BRONZE, True),
        (0.6, BRONZE, True),
        (0.5, Medals(), True),
        (0.45, Medals(), False),
        (0.0, Medals(), False),
    ],
)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_one_medal_at_most(
    score: float, medal: Medals, above_median: bool, higher_is_better: bool
) -> None:
    sign = 1 if higher_is_better else -1
    board = [sign * other for other in TEN]
    earned = award(sign * score, medal_thresholds(board, higher_is_better=higher_is_better))
    expected = (medal.gold_medal, medal.silver_medal, medal.bronze_medal, above_median)
    found = (earned.gold_medal, earned.silver_medal, earned.bronze_medal, earned.above_median)
    assert found == expected
    assert earned.any_medal is any(expected[:3])


def test_the_median_itself_is_not_above_it() -> None:
    thresholds = medal_thresholds([3.0, 2.0, 1.0], higher_is_better=True)
    assert thresholds.median == 2.0
    assert not award(2.0, thresholds).above_median
    assert award(2.5, thresholds).above_median


def test_no_submission_earns_nothing() -> None:
    thresholds = medal_thresholds(TEN, higher_is_better=True)
    assert award(None, thresholds) == Medals()
    assert medal_reward(None, thresholds=thresholds) == 0.0


NOT_FINITE = [float("nan"), float("inf"), float("-inf"), np.float32("nan"), np.float64("inf")]


@pytest.mark.parametrize("score", NOT_FINITE)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_scores_that_are_no_numbers_are_refused(score: float, higher_is_better: bool) -> None:
    thresholds = medal_thresholds(TEN[::-1], higher_is_better=higher_is_better)
    with pytest.raises(ValueError, match="score="):
        award(score, thresholds)
    with pytest.raises(ValueError, match=r"leaderboard\[1\]="):
        medal_thresholds([0.5, score], higher_is_better=higher_is_better)


def test_an_empty_leaderboard_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one score"):
        medal_thresholds([], higher_is_better=True)


@pytest.mark.parametrize("number", [float, int, np.float32, np.float64, np.int64])
def test_results_are_python_bools_and_floats_whatever_goes_in(
    number: Callable[[float], Any],
) -> None:
    thresholds = medal_thresholds([number(x) for x in (3, 2, 1)], higher_is_better=False)
    earned = award(number(1), thresholds)
    assert earned.gold_medal
    flags = (earned.silver_medal, earned.bronze_medal, earned.above_median, earned.any_medal)
    assert {type(flag) for flag in (earned.gold_medal, *flags)} == {bool}
    values = (thresholds.gold, thresholds.silver, thresholds.bronze, thresholds.median)
    assert {type(value) for value in values} == {float}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"silver": 4.0}, "best to worst"),
        ({"bronze": 2.5}, "best to worst"),
        ({"higher_is_better": False}, "higher_is_better=False may be wrong"),
        ({"median": float("nan")}, "median=nan"),
        ({"gold": float("inf")}, "gold=inf"),
    ],
)
def test_thresholds_that_contradict_each_other(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "gold": 3.0,
        "silver": 2.0,
        "bronze": 1.0,
        "median": 0.0,
        "higher_is_better": True,
    }
    MedalThresholds(**given)
    with pytest.raises(ValueError, match=message):
        MedalThresholds(**{**given, **changed})


def _worth(medals: Medals) -> int:
    return 3 * medals.gold_medal + 2 * medals.silver_medal + medals.bronze_medal


@given(board=leaderboards, pair=st.tuples(scores, scores), higher_is_better=directions)
def test_a_better_score_never_earns_less(
    board: list[float], pair: tuple[float, float], higher_is_better: bool
) -> None:
    thresholds = medal_thresholds(board, higher_is_better=higher_is_better)
    worse, better = sorted(pair, reverse=not higher_is_better)
    low, high = award(worse, thresholds), award(better, thresholds)
    assert _worth(low) <= _worth(high)
    assert low.above_median <= high.above_median
    assert medal_reward(worse, thresholds=thresholds) <= medal_reward(better, thresholds=thresholds)


@given(board=leaderboards, score=scores, higher_is_better=directions)
def test_directions_are_mirror_images(
    board: list[float], score: float, higher_is_better: bool
) -> None:
    plain = medal_thresholds(board, higher_is_better=higher_is_better)
    mirrored = medal_thresholds(negated(board), higher_is_better=not higher_is_better)
    assert award(score, plain) == award(-score, mirrored)


@given(board=leaderboards, higher_is_better=directions)
def test_the_leader_gets_gold_and_medals_exclude_each_other(
    board: list[float], higher_is_better: bool
) -> None:
    thresholds = medal_thresholds(board, higher_is_better=higher_is_better)
    leader = (max if higher_is_better else min)(board)
    assert award(leader, thresholds).gold_medal
    for score in board:
        earned = award(score, thresholds)
        assert earned.gold_medal + earned.silver_medal + earned.bronze_medal == earned.any_medal
