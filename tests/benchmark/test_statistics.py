from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wmrl_gym.benchmark.statistics import (
    Interval,
    improvement_interval,
    interquartile_mean,
    mean,
    mean_gain,
    paired_interval,
    performance_profile,
    probability_of_improvement,
    ratio_of_means,
    stratified_interval,
)


def test_interquartile_mean_by_hand() -> None:
    # 8 scores: the two lowest and the two highest go.
    assert interquartile_mean([[9, 1, 2, 3], [4, 5, 6, -50]]) == pytest.approx((2 + 3 + 4 + 5) / 4)


def test_interquartile_mean_is_the_trimmed_mean() -> None:
    scores = np.random.default_rng(0).random((5, 7))
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores.ravel(), 0.25))


def test_nothing_has_no_interquartile_mean() -> None:
    assert np.isnan(interquartile_mean([]))


def test_probability_of_improvement_by_hand() -> None:
    # Task 0: 2 beats both of 0 and 1, 1 beats 0 and ties 1: 3.5 of 4. Task 1: none of 4.
    ours, theirs = [[2.0, 0.0], [1.0, 0.0]], [[0.0, 5.0], [1.0, 6.0]]
    assert probability_of_improvement(ours, theirs) == pytest.approx((3.5 / 4 + 0.0) / 2)


def test_probability_of_improvement_is_mann_whitney() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = rng.random((6, 1)) + 0.2, rng.random((4, 1))
    u = stats.mannwhitneyu(ours[:, 0], theirs[:, 0]).statistic
    assert probability_of_improvement(ours, theirs) == pytest.approx(u / 24)


def test_performance_profile_by_hand() -> None:
    profile = performance_profile([[0.1, 0.5], [0.9, 0.5]], [0.0, 0.5, 0.8])
    np.testing.assert_allclose(profile, [1.0, 0.25, 0.25])


def test_stratified_interval_covers_the_truth() -> None:
    # 100 studies of 8 runs on 3 tasks of different means: 95 % intervals of a small sample
    # cover a little less often than they say.
    rng = np.random.default_rng(2)
    truth = np.array([0.2, 0.5, 0.8])
    covered = 0
    for study in range(100):
        scores = truth + 0.1 * rng.standard_normal((8, 3))
        interval = stratified_interval(mean, scores, resamples=300, seed=study)
        covered += interval.low <= 0.5 <= interval.high
    assert 83 <= covered <= 99


def test_strata_keep_the_difference_between_tasks_out_of_the_interval() -> None:
    scores = np.tile([0.0, 1.0], (5, 1))  # the tasks differ, the runs do not
    assert stratified_interval(mean, scores, resamples=50) == Interval(0.5, 0.5, 0.5)


def test_pairing_removes_what_the_seeds_share() -> None:
    luck = np.random.default_rng(3).standard_normal((6, 1))
    gain = paired_interval(mean_gain, luck + 0.1, luck, resamples=200)
    np.testing.assert_allclose(gain, (0.1, 0.1, 0.1))
    assert gain.excludes_zero


def test_ratio_of_means() -> None:
    assert ratio_of_means(np.array([[4.0], [8.0]]), np.array([[1.0], [2.0]])) == 4.0
    assert np.isnan(ratio_of_means(np.ones((1, 1)), np.zeros((1, 1))))


def test_improvement_interval_of_certain_wins() -> None:
    assert improvement_interval([[1.0], [2.0]], [[0.0], [0.5]], resamples=20) == (1.0, 1.0, 1.0)


def test_interval_reads_as_a_table_cell() -> None:
    assert str(Interval(0.25, -0.1, 0.5)) == "0.250 [-0.100, 0.500]"
    assert not Interval(0.25, -0.1, 0.5).excludes_zero


@pytest.mark.parametrize(
    ("scores", "message"),
    [([1.0, 2.0], "runs x tasks"), ([[np.nan]], "NaN"), (np.zeros((0, 2)), "not empty")],
)
def test_what_is_no_table_is_refused(scores: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stratified_interval(mean, scores)  # type: ignore[arg-type]  # bad on purpose


def test_arms_with_other_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="same tasks"):
        probability_of_improvement([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="one shape"):
        paired_interval(mean_gain, [[1.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="confidence"):
        stratified_interval(mean, [[1.0]], confidence=1.0)
