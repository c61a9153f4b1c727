"""Figures of a study, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction.diagnostics import rank_correlations
from wmrl_gym.correction.quality import (
    bootstrap_interval,
    calibration_error,
    cross_debiased,
    detection_auc,
    pair_accuracies,
    reliability,
)


def test_pair_accuracies_by_hand() -> None:
    # Group 0: of three pairs one is right, one wrong, one predicted equal: (1 + 0 + 1/2) / 3.
    # Group 1: no pair differs. Group 2 has one member.
    predicted = [0.5, 0.5, 0.2, 0.3, 0.9, 0.1]
    true = [0.1, 0.9, 0.6, 0.7, 0.7, 0.2]
    given = pair_accuracies(predicted, true, [0, 0, 0, 1, 1, 2])
    assert given == pytest.approx([0.5, np.nan, np.nan], nan_ok=True)


def test_detection_auc_by_hand() -> None:
    # Occurred: 0.9, 0.5. Not: 0.5, 0.1, 0.2. Of six comparisons five are won, one is a tie.
    probability = [0.9, 0.5, 0.5, 0.1, 0.2]
    occurred = np.array([True, True, False, False, False])
    assert detection_auc(probability, occurred) == pytest.approx(5.5 / 6.0)
    assert detection_auc([0.3, 0.3], np.array([True, False])) == 0.5
    assert np.isnan(detection_auc([0.1, 0.2], np.array([True, True])))


def test_reliability_and_its_error_by_hand() -> None:
    diagram = reliability([0.0, 0.1, 0.5, 1.0], [0.2, 0.4, 0.5, 0.6], bins=2)
    assert [part.count for part in diagram] == [2, 2]
    assert diagram[0].predicted == pytest.approx(0.05)
    assert diagram[0].true == pytest.approx(0.3)
    assert (diagram[1].low, diagram[1].high) == (0.5, 1.0)
    # (2 * |0.05 - 0.3| + 2 * |0.75 - 0.55|) / 4
    assert calibration_error(diagram) == pytest.approx(0.225)


def test_reliability_of_other_bounds_and_of_nothing() -> None:
    diagram = reliability([-7.0, 3.0], [-2.0, 2.0], bounds=(-2.0, 2.0), bins=4)
    assert [part.count for part in diagram] == [1, 0, 0, 1]
    assert np.isnan(diagram[1].predicted)
    assert np.isnan(calibration_error(reliability([], [])))


def test_a_map_never_judges_pairs_that_it_was_fitted_on() -> None:
    # Truth is noise: a map measured on its own pairs would explain part of it, and one fitted
    # on the other blocks can only come out near their mean.
    rng = np.random.default_rng(0)
    predicted, true = rng.random(400), rng.random(400)
    blocks = np.repeat(np.arange(50), 8)
    recast = cross_debiased(predicted, true, blocks)
    assert np.mean((recast - true) ** 2) > np.var(true)
    assert np.mean((recast - true) ** 2) < 1.1 * np.var(true)


def test_a_bias_is_removed_and_the_order_kept() -> None:
    true = np.random.default_rng(1).random(200)
    predicted = 0.5 + 0.5 * true**2
    recast = cross_debiased(predicted, true, np.arange(200) // 4)
    assert np.mean((recast - true) ** 2) < 0.01 * np.mean((predicted - true) ** 2)
    within = rank_correlations(recast, true, np.arange(200) // 4)
    assert within == pytest.approx(np.ones(50))


def test_pairs_of_one_block_are_recast_by_one_map_without_them() -> None:
    # Were block 0 in the fit, its prediction 0.9 would be mapped near its truth, 0.
    predicted = np.concatenate([[0.9] * 10, np.linspace(0.1, 0.8, 90)])
    true = np.concatenate([[0.0] * 10, np.linspace(0.1, 0.8, 90)])
    recast = cross_debiased(predicted, true, np.concatenate([[0] * 10, 1 + np.arange(90)]))
    assert recast[:10] == pytest.approx(0.8, abs=0.02)


def test_too_few_pairs_for_a_map_are_no_score() -> None:
    assert np.isnan(cross_debiased([0.1, 0.2], [0.1, 0.2], [0, 1])).all()
    # All in one block: nothing is left to fit a map to.
    assert np.isnan(cross_debiased(np.linspace(0, 1, 99), np.zeros(99), np.zeros(99, int))).all()


def test_the_interval_of_a_mean_over_groups() -> None:
    values = np.arange(100.0)
    low, high = bootstrap_interval(lambda chosen: float(values[chosen].mean()), 100)
    # The standard error is sqrt((100^2 - 1) / 12 / 100) = 2.887; the ends lie 1.96 of it away.
    assert low == pytest.approx(49.5 - 5.66, abs=0.6)
    assert high == pytest.approx(49.5 + 5.66, abs=0.6)
    again = bootstrap_interval(lambda chosen: float(values[chosen].mean()), 100)
    assert again == (low, high)


def test_an_interval_needs_two_groups_and_something_to_say() -> None:
    assert np.isnan(bootstrap_interval(lambda chosen: 1.0, 1)).all()
    assert np.isnan(bootstrap_interval(lambda chosen: np.nan, 9, resamples=10)).all()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: rank_correlations([0.1], [0.1, 0.2], [0, 0]), "predicted has 1"),
        (lambda: pair_accuracies([np.nan], [0.1], [0]), "predicted holds 1 NaN"),
        (lambda: detection_auc([0.1], [1]), "occurred must be booleans"),
        (lambda: reliability([0.1], [0.1], bins=0), "bins=0"),
        (lambda: cross_debiased([0.1], [0.1], [0], folds=1), "folds=1"),
        (lambda: bootstrap_interval(lambda c: 0.0, 5, confidence=1.0), "confidence=1.0"),
        (lambda: bootstrap_interval(lambda c: 0.0, 5, resamples=0), "resamples=0"),
    ],
)
def test_bad_arguments_are_named(call: object, named: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=named):
        call()
