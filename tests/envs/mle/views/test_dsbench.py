"""Performance gaps against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.envs.mle.views.strategies import directions, scores
from wmrl_gym.envs.mle.views import performance_gap, relative_performance_gap


@pytest.mark.parametrize(
    ("score", "baseline", "ground_truth", "higher_is_better", "gap"),
    [
        (0.75, 0.5, 1.0, True, 0.5),
        (1.0, 0.5, 1.0, True, 1.0),
        (0.4, 0.5, 1.0, True, 0.0),
        (1.2, 4.8, 0.0, False, 0.75),
        (6.0, 4.8, 0.0, False, 0.0),
        # titanic: the sample submission has an accuracy of 0.497
        (0.7485, 0.497, 1.0, True, 0.5),
    ],
)
def test_gaps(
    score: float, baseline: float, ground_truth: float, higher_is_better: bool, gap: float
) -> None:
    found = performance_gap(
        score, baseline=baseline, ground_truth=ground_truth, higher_is_better=higher_is_better
    )
    assert found == pytest.approx(gap)


def test_a_missing_submission_counts_as_no_progress() -> None:
    gaps = [
        performance_gap(score, baseline=0.5, ground_truth=1.0, higher_is_better=True)
        for score in (0.75, None, 1.0)
    ]
    assert gaps == [0.5, 0.0, 1.0]
    assert relative_performance_gap(gaps) == 0.5


@pytest.mark.parametrize(
    ("ground_truth", "higher_is_better"), [(0.5, True), (0.5, False), (0.4, True), (1.0, False)]
)
@pytest.mark.parametrize("score", [0.5, None])
def test_the_ground_truth_has_to_be_better(
    ground_truth: float, higher_is_better: bool, score: float | None
) -> None:
    with pytest.raises(ValueError, match=f"ground_truth={ground_truth} must be better"):
        performance_gap(
            score, baseline=0.5, ground_truth=ground_truth, higher_is_better=higher_is_better
        )


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="score="):
        performance_gap(bad, baseline=0.5, ground_truth=1.0, higher_is_better=True)
    with pytest.raises(ValueError, match="baseline="):
        performance_gap(0.5, baseline=bad, ground_truth=1.0, higher_is_better=True)
    with pytest.raises(ValueError, match=r"gaps\[0\]="):
        relative_performance_gap([bad])


@pytest.mark.parametrize("gaps", [[], [-0.1, 0.5]])
def test_a_mean_needs_gaps(gaps: list[float]) -> None:
    with pytest.raises(ValueError, match="gaps="):
        relative_performance_gap(gaps)


@given(one=scores, other=scores, higher_is_better=directions)
def test_bounded_monotone_and_symmetric(one: float, other: float, higher_is_better: bool) -> None:
    worse, better = sorted((one, other), reverse=not higher_is_better)
    end = 6.0 if higher_is_better else -6.0
    low, high = (
        performance_gap(score, baseline=0.0, ground_truth=end, higher_is_better=higher_is_better)
        for score in (worse, better)
    )
    assert 0.0 <= low <= high <= 1.0
    mirrored = performance_gap(
        -better, baseline=0.0, ground_truth=-end, higher_is_better=not higher_is_better
    )
    assert mirrored == high
