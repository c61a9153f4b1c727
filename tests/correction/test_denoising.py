from __future__ import annotations

import json

import numpy as np
import pytest

from wmrl_gym.correction import InverseVarianceWeighting


def feed(weighting, *residuals):
    """Give one group of two pairs for each residual."""
    for residual in residuals:
        off = np.sqrt(residual)
        weighting.update([0.5 + off, 0.5 - off], [0.5, 0.5], [0, 0])


def test_one_plus_the_ratio_of_residuals():
    weighting = InverseVarianceWeighting(warmup_groups=2)
    feed(weighting, 0.04)
    assert weighting.anchor_weight == 1.0
    assert np.isnan(weighting.reference_residual)
    feed(weighting, 0.02)
    assert weighting.anchor_weight == 2.0
    assert weighting.reference_residual == pytest.approx(0.03)
    feed(weighting, 0.07)  # window 0.02, 0.07: 0.045 against 0.03
    assert weighting.residual == pytest.approx(0.045)
    assert weighting.anchor_weight == pytest.approx(2.5)
    feed(weighting, 0.005)  # window 0.07, 0.005: 0.0375
    assert weighting.anchor_weight == pytest.approx(2.25)
    assert weighting.reference_residual == pytest.approx(0.03)


def test_residual_of_a_group_is_its_mean_squared_difference():
    weighting = InverseVarianceWeighting(warmup_groups=2)
    weighting.update([0.1, 0.5, 0.9, 0.4], [0.3, 0.5, 0.5, 0.4], [7, 2, 7, 2])
    assert weighting.groups_seen == 2
    assert weighting.residual == pytest.approx(((0.04 + 0.16) / 2 + 0.0) / 2)


def test_the_reference_is_the_first_groups_even_if_one_update_brings_more():
    weighting = InverseVarianceWeighting(warmup_groups=2)
    weighting.update([0.1, 0.1, 0.3], [0.0, 0.0, 0.0], [0, 1, 2])
    assert weighting.reference_residual == pytest.approx(0.01)
    assert weighting.residual == pytest.approx(0.05)
    assert weighting.anchor_weight == pytest.approx(4.0)


def test_groups_without_a_pair_are_skipped_not_zeroed():
    weighting = InverseVarianceWeighting(warmup_groups=3)
    weighting.update([0.5, np.nan, np.nan, 0.7], [0.3, 0.1, np.nan, np.nan], groups=[0, 0, 1, 2])
    assert weighting.groups_seen == 1
    assert weighting.residual == pytest.approx(0.04)
    weighting.update([], [], [])
    assert weighting.groups_seen == 1


def test_clipped():
    weighting = InverseVarianceWeighting(warmup_groups=1, max_weight=3.0)
    feed(weighting, 0.01, 0.25)
    assert weighting.anchor_weight == 3.0


def test_exponents():
    for exponent, expected in ((1.0, 3.0), (0.5, np.sqrt(3.0)), (0.0, 1.0)):
        weighting = InverseVarianceWeighting(warmup_groups=1, exponent=exponent)
        feed(weighting, 0.01, 0.02)
        assert weighting.anchor_weight == pytest.approx(expected)


def test_a_world_model_without_error_stays_in_the_warm_up():
    weighting = InverseVarianceWeighting(warmup_groups=2)
    feed(weighting, 0.0, 0.0, 0.0)
    # Equal up to the last bits, which must not become the unit of later errors.
    weighting.update([0.1 + 0.2], [0.3], [3])
    assert weighting.residual == 0.0
    assert weighting.anchor_weight == 1.0
    feed(weighting, 0.02)
    assert weighting.reference_residual == pytest.approx(0.01)
    assert weighting.anchor_weight == 2.0
    feed(weighting, 0.0, 0.0)
    assert weighting.anchor_weight == 1.0


def test_nothing_seen():
    weighting = InverseVarianceWeighting()
    assert np.isnan(weighting.residual)
    assert weighting.anchor_weight == 1.0


def test_the_reference_is_no_single_groups_luck():
    # Steady world model, residuals with sd = mean: the spread that the docstring states.
    rng = np.random.default_rng(0)
    weights = []
    for _ in range(1000):
        weighting = InverseVarianceWeighting(warmup_groups=8)
        errors = np.sqrt(rng.exponential(0.02, 16))
        weighting.update(errors, np.zeros(16), np.arange(16))
        weights.append(weighting.anchor_weight)
    low, high = np.quantile(weights, [0.05, 0.95])
    assert low == pytest.approx(1.43, abs=0.05)
    assert high == pytest.approx(3.34, abs=0.2)


def test_resumes_and_does_not_repeat_the_warm_up():
    first, second = (InverseVarianceWeighting(warmup_groups=3) for _ in range(2))
    feed(first, 0.01, 0.04)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for residual in (0.02, 0.05, 0.001, 0.03):
        feed(first, residual)
        feed(second, residual)
        assert first.anchor_weight == second.anchor_weight
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.reference_residual == first.reference_residual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"warmup_groups": 0}, "warmup_groups must be at least 1, got 0"),
        ({"max_weight": 0.5}, r"max_weight .* got 0\.5"),
        ({"max_weight": float("nan")}, "max_weight"),
        ({"exponent": 2.0}, r"exponent must lie in \[0, 1\], got 2\.0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        InverseVarianceWeighting(**arguments)


def test_lengths():
    with pytest.raises(ValueError, match="calibrated has 2, true has 1, groups has 2"):
        InverseVarianceWeighting().update([0.1, 0.2], [0.1], [0, 0])
