from __future__ import annotations

import json

import numpy as np
import pytest

from wmrl_gym.correction import IsotonicDebiaser, group_advantages


def error(scores, true):
    return float(np.mean((np.asarray(scores) - true) ** 2))


def test_identity_until_there_are_enough_pairs():
    debiaser = IsotonicDebiaser(min_pairs=3)
    debiaser.partial_fit([0.2, 0.8], [0.0, 0.1])
    assert not debiaser.fitted
    np.testing.assert_array_equal(debiaser.transform([-1.0, 0.3, 2.0]), [0.0, 0.3, 1.0])
    debiaser.partial_fit([0.5], [0.05])
    assert debiaser.fitted
    np.testing.assert_allclose(debiaser.transform([0.2, 0.5, 0.8]), [0.0, 0.05, 0.1], atol=1e-4)


def test_one_distinct_prediction_makes_no_map():
    debiaser = IsotonicDebiaser(min_pairs=4).partial_fit([0.4] * 10, np.linspace(0, 1, 10))
    assert not debiaser.fitted
    assert debiaser.pairs == 10


def test_equal_truth_makes_a_flat_map_that_keeps_the_order():
    debiaser = IsotonicDebiaser(min_pairs=4).partial_fit([0.1, 0.3, 0.5, 0.9], [0.2] * 4)
    calibrated = debiaser.transform([0.1, 0.5, 0.9])
    np.testing.assert_allclose(calibrated, 0.2, atol=1e-4)
    assert (np.diff(calibrated) > 0).all()
    assert debiaser.map.flatness > 0.99


def test_reversed_truth_stays_monotone():
    debiaser = IsotonicDebiaser(min_pairs=4).partial_fit([0.1, 0.3, 0.5, 0.9], [0.9, 0.6, 0.3, 0.2])
    np.testing.assert_allclose(debiaser.transform([0.1, 0.9]), 0.5, atol=1e-4)


def test_no_pairs_change_nothing():
    debiaser = IsotonicDebiaser(min_pairs=2).partial_fit([0.1, 0.9], [0.0, 0.5])
    before = debiaser.map
    assert debiaser.partial_fit([], []).map is before


def test_a_refit_makes_a_new_map_and_leaves_a_pinned_one_alone():
    debiaser = IsotonicDebiaser(min_pairs=2).partial_fit([0.1, 0.9], [0.0, 0.5])
    pinned, scores = debiaser.map, debiaser.transform([0.5])
    debiaser.partial_fit([0.5], [0.5])
    assert (pinned.version, debiaser.map.version) == (1, 2)
    np.testing.assert_array_equal(pinned([0.5]), scores)
    assert debiaser.transform([0.5])[0] > scores[0]


def test_oldest_pairs_leave_first():
    debiaser = IsotonicDebiaser(min_pairs=2, max_pairs=2)
    debiaser.partial_fit([0.2, 0.8], [1.0, 1.0]).partial_fit([0.2, 0.8], [0.0, 0.4])
    assert debiaser.pairs == 2
    np.testing.assert_allclose(debiaser.transform([0.2, 0.8]), [0.0, 0.4], atol=1e-4)


def test_one_call_larger_than_the_window_keeps_its_end():
    debiaser = IsotonicDebiaser(min_pairs=2, max_pairs=2)
    debiaser.partial_fit([0.2, 0.8, 0.2, 0.8], [1.0, 1.0, 0.0, 0.4])
    np.testing.assert_allclose(debiaser.transform([0.2, 0.8]), [0.0, 0.4], atol=1e-4)


def test_predictions_out_of_bounds_are_clipped_and_rounding_of_truth_is_forgiven():
    debiaser = IsotonicDebiaser(min_pairs=2).partial_fit([-3.0, 7.0], [0.0, 1.0 + 1e-12])
    np.testing.assert_allclose(debiaser.transform([-9.0, 0.5, 9.0]), [0.0, 0.5, 1.0])


@pytest.mark.parametrize(
    ("predicted", "true", "message"),
    [
        ([0.1, 0.2], [0.1], "predicted has 2, true has 1"),
        ([np.nan], [0.1], "predicted holds 1 NaN"),
        ([0.1], [np.nan], "true holds 1 NaN"),
        ([0.1], [1.5], r"true holds .*1\.5.*outside bounds=\(0\.0, 1\.0\)"),
        ([0.1], [np.inf], "outside bounds"),
        ([[0.1]], [[0.1]], "predicted must have one axis"),
    ],
)
def test_bad_pairs_change_nothing(predicted, true, message):
    debiaser = IsotonicDebiaser(min_pairs=2)
    with pytest.raises(ValueError, match=message):
        debiaser.partial_fit(predicted, true)
    assert debiaser.pairs == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": (1.0, 0.0)}, r"bounds .*\(1\.0, 0\.0\)"),
        ({"bounds": (0.0, np.inf)}, "bounds"),
        ({"min_pairs": 1}, "min_pairs=1"),
        ({"min_pairs": 50, "max_pairs": 40}, "max_pairs=40"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        IsotonicDebiaser(**arguments)


def test_bounds_may_come_from_json():
    assert IsotonicDebiaser(bounds=[0, 2]).bounds == (0.0, 2.0)


def test_resumes_bit_for_bit():
    rng = np.random.default_rng(0)
    first, second = (IsotonicDebiaser(min_pairs=20, max_pairs=50) for _ in range(2))
    for _ in range(6):
        first.partial_fit(rng.uniform(size=8), rng.uniform(size=8))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.map.version == first.map.version
    more = rng.uniform(size=8), rng.uniform(size=8)
    for queries in np.linspace(0, 1, 7), np.linspace(0, 1, 11):
        np.testing.assert_array_equal(first.transform(queries), second.transform(queries))
        first.partial_fit(*more)
        second.partial_fit(*more)


def test_does_not_resume_with_other_bounds():
    state = IsotonicDebiaser(bounds=(0.0, 2.0)).state_dict()
    with pytest.raises(ValueError, match=r"saved with bounds=\(0\.0, 2\.0\)"):
        IsotonicDebiaser().load_state_dict(state)


def test_removes_nine_tenths_of_a_bias_without_noise():
    rng = np.random.default_rng(0)
    true, fresh = rng.uniform(size=200), rng.uniform(size=5000)
    debiaser = IsotonicDebiaser().partial_fit(0.3 + 0.7 * np.sqrt(true), true)
    predicted = 0.3 + 0.7 * np.sqrt(fresh)
    assert error(debiaser.transform(predicted), fresh) < 0.1 * error(predicted, fresh)


def test_removes_two_fifths_of_the_error_with_noise():
    rng = np.random.default_rng(0)

    def predict(true):
        return 0.3 + 0.7 * np.sqrt(true) + rng.normal(0.0, 0.1, true.shape)

    true, fresh = rng.uniform(size=200), rng.uniform(size=5000)
    debiaser = IsotonicDebiaser().partial_fit(predict(true), true)
    predicted = predict(fresh)
    assert error(debiaser.transform(predicted), fresh) < 0.6 * error(predicted, fresh)


def test_removes_what_standardised_advantages_see_of_the_bias():
    # An offset or a factor would be cancelled by the standardisation; a curve is not.
    rng = np.random.default_rng(0)
    true, fresh = rng.uniform(size=400), rng.uniform(size=8000)
    groups = np.repeat(np.arange(1000), 8)
    debiaser = IsotonicDebiaser().partial_fit(true**4, true)
    wanted = group_advantages(fresh, groups)
    raw = error(group_advantages(fresh**4, groups), wanted)
    assert error(group_advantages(debiaser.transform(fresh**4), groups), wanted) < 0.1 * raw


def test_follows_drift_through_its_window():
    rng = np.random.default_rng(0)
    window = IsotonicDebiaser(max_pairs=400)
    everything = IsotonicDebiaser(max_pairs=5000)
    for exponent in (2.0, 2.0, 2.0, 0.5):
        predicted = rng.uniform(size=400)
        window.partial_fit(predicted, predicted**exponent)
        everything.partial_fit(predicted, predicted**exponent)
    fresh = rng.uniform(size=2000)
    truth = fresh**0.5
    assert error(window.transform(fresh), truth) < 1e-3
    assert error(everything.transform(fresh), truth) > 0.05


def test_prequential_residual_is_honest_and_the_in_sample_one_is_not():
    # 64 pairs; the same map scores its own pairs, the next 8 and a large fresh sample.
    rng = np.random.default_rng(0)

    def draw(n):
        predicted = rng.uniform(size=n)
        return predicted, np.clip(predicted + rng.normal(0.0, 0.15, n), 0.0, 1.0)

    in_sample, prequential, fresh = [], [], []
    for _ in range(400):
        pairs, following, sample = draw(64), draw(8), draw(2000)
        debiaser = IsotonicDebiaser().partial_fit(*pairs)
        in_sample.append(error(debiaser.transform(pairs[0]), pairs[1]))
        prequential.append(error(debiaser.transform(following[0]), following[1]))
        fresh.append(error(debiaser.transform(sample[0]), sample[1]))
    standard_error = np.std(prequential) / 20
    assert abs(np.mean(prequential) - np.mean(fresh)) < 4 * standard_error
    assert np.mean(in_sample) < 0.9 * np.mean(fresh)
