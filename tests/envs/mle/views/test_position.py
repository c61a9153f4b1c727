"""Position scores against MLE-Dojo's published trajectory and numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.envs.mle.views.strategies import directions, leaderboards, negated, scores
from wmrl_gym.envs.mle.views import leaderboard_rank, position_score


@pytest.mark.parametrize(
    ("rank", "expected"),
    [(301, 0.351), (234, 0.496), (198, 0.574), (1, 1.0), (462, 1 / 462)],
)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_ranks_of_a_real_trajectory(rank: int, expected: float, higher_is_better: bool) -> None:
    # 462 teams as in random-acts-of-pizza, whose two leaderboards are the same file.
    sign = -1 if higher_is_better else 1
    board = [float(sign * place) for place in range(1, 463)]
    score = float(sign * rank)
    assert leaderboard_rank(score, board, higher_is_better=higher_is_better) == rank
    reward = position_score(score, private=board, public=board, higher_is_better=higher_is_better)
    assert reward == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("score", "rank", "share"),
    [
        (0.95, 1, 1.0),
        (0.9, 1, 1.0),
        (0.85, 2, 0.75),
        (0.8, 2, 0.75),
        (0.7, 4, 0.25),
        (0.5, 4, 0.25),
        (0.4, 5, 0.0),
    ],
)
def test_ties_take_the_best_place(score: float, rank: int, share: float) -> None:
    board = [0.8, 0.5, 0.9, 0.8]
    assert leaderboard_rank(score, board, higher_is_better=True) == rank
    assert position_score(score, private=board, higher_is_better=True) == share


def test_the_two_leaderboards_are_averaged() -> None:
    # Third of four on the private one (2/4), behind both on the public one (0/2).
    private, public = [0.9, 0.8, 0.5, 0.4], [0.9, 0.7]
    assert position_score(0.6, private=private, public=public, higher_is_better=True) == 0.25
    assert position_score(0.6, private=private, higher_is_better=True) == 0.5


def test_no_submission_gets_nothing() -> None:
    assert position_score(None, private=[1.0], higher_is_better=True) == 0.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), np.float32("nan")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="score="):
        position_score(bad, private=[1.0, 2.0], higher_is_better=True)
    with pytest.raises(ValueError, match=r"leaderboard\[0\]="):
        position_score(1.5, private=[bad, 2.0], higher_is_better=True)
    with pytest.raises(ValueError, match="at least one score"):
        position_score(1.5, private=[], higher_is_better=True)


@given(
    board=leaderboards,
    public=leaderboards,
    pair=st.tuples(scores, scores),
    higher_is_better=directions,
)
def test_bounded_monotone_and_symmetric(
    board: list[float], public: list[float], pair: tuple[float, float], higher_is_better: bool
) -> None:
    worse, better = sorted(pair, reverse=not higher_is_better)
    low, high = (
        position_score(score, private=board, public=public, higher_is_better=higher_is_better)
        for score in (worse, better)
    )
    assert 0.0 <= low <= high <= 1.0
    mirrored = position_score(
        -better,
        private=negated(board),
        public=negated(public),
        higher_is_better=not higher_is_better,
    )
    assert mirrored == high
    assert type(high) is float
