"""Normalised scores against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.envs.mle.views.strategies import directions, scores
from wmrl_gym.envs.mle.views import normalised_score

ACCURACY: dict[str, Any] = {
    "worst": 0.0, "state_of_the_art": 0.9, "optimum": 1.0, "higher_is_better": True,
}  # fmt: skip
ERROR: dict[str, Any] = {
    "worst": 100.0, "state_of_the_art": 1.0, "optimum": 0.0, "higher_is_better": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.0, 0.0),
        (0.9, 1.0),
        # Distances to the optimum of 0.01 and 1e-6 are two and six times as many decades away
        # from the worst score's distance as the state of the art's.
        (0.99, 2.0),
        (1 - 1e-6, 6.0),
        (1.0, 6.0),
        (None, 0.0),
    ],
)
def test_accuracy(score: float | None, expected: float) -> None:
    assert normalised_score(score, **ACCURACY) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(100.0, 0.0), (10.0, 0.5), (1.0, 1.0), (0.1, 1.5), (1000.0, -0.5), (0.0, 3.0), (-1e-9, 3.0)],
)
def test_error(score: float, expected: float) -> None:
    assert normalised_score(score, **ERROR) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"worst": 0.9}, "worst=0.9"),
        ({"worst": 0.95}, "get better in this order"),
        ({"state_of_the_art": 1.0}, "get better in this order"),
        ({"higher_is_better": False}, "higher_is_better=False may be wrong"),
        ({"score": 1.01}, "score=1.01 is better than optimum=1.0"),
        ({"score": float("nan")}, "score=nan"),
        ({"score": float("inf")}, "score=inf"),
        ({"optimum": float("inf")}, "optimum=inf"),
    ],
)
def test_contradictions_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normalised_score(**{"score": 0.5, **ACCURACY, **changed})


@given(one=scores, other=scores, higher_is_better=directions)
def test_finite_monotone_and_symmetric(one: float, other: float, higher_is_better: bool) -> None:
    sign = 1.0 if higher_is_better else -1.0
    worse, better = sorted((one, other), reverse=not higher_is_better)
    facts = {"worst": sign * 0.0, "state_of_the_art": sign * 3.0, "optimum": sign * 5.0}
    low, high = (
        normalised_score(score, **facts, higher_is_better=higher_is_better)
        for score in (worse, better)
    )
    assert low <= high < 20
    mirrored = {name: -value for name, value in facts.items()}
    assert normalised_score(-better, **mirrored, higher_is_better=not higher_is_better) == high
