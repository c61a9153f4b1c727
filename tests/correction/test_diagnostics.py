from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from wmrl_gym.correction import bias_reduction, rank_correlation
from wmrl_gym.correction.diagnostics import rank_correlations


def test_rank_correlation_is_the_mean_over_groups():
    predicted = [0.1, 0.2, 0.3, 0.9, 0.8, 0.7]
    true = [0.0, 0.5, 0.6, 0.1, 0.2, 0.3]
    assert rank_correlation(predicted[:3], true[:3], [0, 0, 0]) == pytest.approx(1.0)
    assert rank_correlation(predicted, true, [0, 0, 0, 1, 1, 1]) == pytest.approx(0.0)


def test_rank_correlation_by_hand_with_a_tie():
    # Ranks 1, 2.5, 2.5 against 1, 2, 3: 1.5 / sqrt(1.5 * 2).
    assert rank_correlation([0.1, 0.5, 0.5], [0.0, 0.2, 0.9], [4, 4, 4]) == pytest.approx(
        1.5 / np.sqrt(3.0)
    )


def test_rank_correlations_by_hand():
    # Group 3: ranks of the truth 1 2 3 4, of the prediction 1 3 2 4: 1 - 6 * 2 / (4 * 15) = 0.8.
    # Group 5: reversed. Group 7: all true scores equal. Group 9: all predictions equal.
    groups = [3, 3, 3, 3, 5, 5, 7, 7, 9, 9]
    true = [0.1, 0.2, 0.5, 0.9, 0.1, 0.9, 0.4, 0.4, 0.1, 0.2]
    predicted = [0.0, 0.6, 0.5, 0.7, 0.8, 0.2, 0.1, 0.9, 0.5, 0.5]
    given = rank_correlations(predicted, true, groups)
    assert given == pytest.approx([0.8, -1.0, np.nan, 0.0], nan_ok=True)


def test_rank_correlation_of_ties_is_that_of_their_mean_ranks():
    # True ranks 1.5 1.5 3, predicted 1 2 3: covariance 1.5, variances 1.5 and 2.
    given = rank_correlations([0.1, 0.2, 0.3], [0.1, 0.1, 0.9], [0, 0, 0])
    assert given == pytest.approx([1.5 / np.sqrt(1.5 * 2.0)])


def test_rank_correlations_of_scattered_members_with_ties_are_those_of_scipy():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(40), 9))
    predicted, true = (rng.integers(0, 6, size=360) / 5.0 for _ in range(2))
    expected = [spearmanr(predicted[groups == g], true[groups == g])[0] for g in range(40)]
    given = rank_correlations(predicted, true, groups)
    np.testing.assert_allclose(given, expected, rtol=0.0, atol=1e-12)
    assert rank_correlation(predicted, true, groups) == pytest.approx(np.mean(expected), abs=1e-12)


def test_between_task_differences_do_not_flatter():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 8)
    task = np.repeat(rng.normal(size=400), 8)
    predicted, true = (task + 0.1 * rng.normal(size=3200) for _ in range(2))
    assert np.corrcoef(predicted, true)[0, 1] > 0.9
    assert abs(rank_correlation(predicted, true, groups)) < 4 / np.sqrt(7 * 400)


def test_groups_without_an_order():
    assert rank_correlation([0.1, 0.1], [0.2, 0.8], [0, 0]) == 0.0
    assert np.isnan(rank_correlation([0.1, 0.9], [0.5, 0.5], [0, 0]))
    assert np.isnan(rank_correlation([0.1, 0.9], [0.2, 0.8], [0, 1]))
    assert np.isnan(rank_correlation([], [], []))


def test_bias_reduction_by_hand():
    # Errors within the group: -0.2, 0.2 before, -0.1, 0.1 after.
    reduction = bias_reduction([0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0, 0])
    assert reduction == pytest.approx(0.75)


def test_bias_reduction_ignores_offsets_of_groups():
    true, groups = np.array([0.3, 0.7, 0.1, 0.2]), [0, 0, 1, 1]
    offset = np.array([0.2, 0.2, -0.1, -0.1])
    predicted = true + np.array([0.1, -0.1, 0.0, 0.0])
    assert bias_reduction(predicted, true + offset, true, groups) == pytest.approx(1.0)
    assert np.isnan(bias_reduction(true + offset, true, true, groups))
    assert np.isnan(bias_reduction([], [], [], []))


def test_bad_arguments():
    with pytest.raises(ValueError, match="predicted has 1, true has 2, groups has 2"):
        rank_correlation([0.1], [0.1, 0.2], [0, 0])
    with pytest.raises(ValueError, match="true holds 1 NaN"):
        rank_correlation([0.1, 0.2], [0.1, np.nan], [0, 0])
