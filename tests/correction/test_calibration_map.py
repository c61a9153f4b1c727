from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_gym.correction import CalibrationMap
from wmrl_gym.correction.calibration_map import TILT


def fit(predicted, true, bounds=(0.0, 1.0)):
    return CalibrationMap.fit(np.array(predicted), np.array(true), bounds=bounds, version=1)


def test_hand_computed_pool():
    # 0.5 at 0.2 and 0.3 at 0.3 are out of order: pooled to 0.4, centred on 0.25.
    map_ = fit([0.4, 0.1, 0.3, 0.2], [1.0, 0.0, 0.3, 0.5])
    np.testing.assert_allclose(map_.x, [0.1, 0.25, 0.4])
    np.testing.assert_allclose(map_.y, [0.0, 0.4, 1.0])
    # Halfway between the knots; outside them flat but for the tilt.
    np.testing.assert_allclose(
        map_([0.175, 0.0, 0.9]),
        [(1 - TILT) * 0.2 + TILT * 0.175, 0.0, (1 - TILT) * 1.0 + TILT * 0.9],
        rtol=1e-12,
    )


def test_repeated_predictions_weigh_by_their_number():
    # 0.2 has the mean 0.6 (two pairs), 0.5 the value 0.3 (one): pooled to 0.5 at x = 0.3.
    map_ = fit([0.2, 0.2, 0.5], [0.4, 0.8, 0.3])
    np.testing.assert_allclose(map_.x, [0.3])
    np.testing.assert_allclose(map_.y, [0.5])
    np.testing.assert_allclose(map_([0.3]), [(1 - TILT) * 0.5 + TILT * 0.3])


def test_last_bits_of_a_ladder_do_not_make_a_cliff():
    map_ = fit([0.3, 0.1 + 0.2, 0.6], [0.0, 0.4, 0.5])
    np.testing.assert_allclose(map_.x, [0.3, 0.6])
    np.testing.assert_allclose(map_.y, [0.2, 0.5])


def test_other_bounds():
    map_ = fit([-10.0, 0.0, 10.0], [-5.0, 0.0, 5.0], bounds=(-10.0, 10.0))
    np.testing.assert_allclose(map_([-10.0, 4.0, 99.0]), [-5.0, 2.0, 5.0], atol=20 * TILT)


def test_identity_clips_and_says_what_it_is():
    map_ = CalibrationMap.identity((0.0, 1.0))
    assert not map_.calibrated
    assert map_.version == 0
    assert map_.flatness == 0.0
    np.testing.assert_array_equal(map_([-0.5, 0.1, 0.7, 1.5]), [0.0, 0.1, 0.7, 1.0])


def test_nan_has_no_image():
    with pytest.raises(ValueError, match="predicted holds 1 NaN; no score is not 0"):
        CalibrationMap.identity((0.0, 1.0))([0.5, np.nan])


def test_maps_do_not_change():
    map_ = fit([0.1, 0.9], [0.2, 0.6])
    with pytest.raises(dataclasses.FrozenInstanceError):
        map_.version = 7
    with pytest.raises(ValueError, match="read-only"):
        map_.y[0] = 1.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(map_))([0.4]), map_([0.4]))


def test_flatness():
    assert fit([0.1, 0.9], [0.5, 0.5]).flatness == pytest.approx(1.0 - TILT)
    assert fit([0.0, 1.0], [0.4, 0.6]).flatness == pytest.approx(0.8, abs=TILT)


# On a grid of 1e-6 of the bounds' width: distinct predictions are distinct scores.
steps = st.integers(-100, 10**6 + 100)
pairs = st.lists(st.tuples(steps, st.integers(0, 10**6)), min_size=1, max_size=40)
bounds = st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (-1000.0, 0.0), (3.0, 3.001)])


@settings(deadline=None, max_examples=300)
@given(pairs=pairs, queries=st.lists(steps, min_size=2, max_size=30), bounds=bounds)
def test_any_fit_is_strictly_increasing_within_the_bounds(pairs, queries, bounds):
    low, high = bounds

    def scale(step):
        return low + (high - low) * np.array(step) / 1e6

    predicted, true = np.array(pairs).T
    map_ = fit(np.clip(scale(predicted), low, high), np.clip(scale(true), low, high), bounds)
    queries = np.unique(queries)
    calibrated = map_(scale(queries))
    assert np.isfinite(calibrated).all()
    assert (calibrated >= low).all()
    assert (calibrated <= high).all()
    assert (np.diff(calibrated) >= 0.0).all()
    inside = (queries >= 0) & (queries <= 10**6)
    assert (np.diff(calibrated[inside]) > 0.0).all()
