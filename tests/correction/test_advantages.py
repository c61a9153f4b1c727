from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_gym.correction import degenerate_groups, group_advantages, normalized_weights


def test_hand_computed():
    np.testing.assert_allclose(group_advantages([0.0, 1.0], [0, 0]), [-0.5 / 0.5001, 0.5 / 0.5001])
    # mean 0.4, population variance (0.09 + 0.01 + 0.16) / 3
    std = np.sqrt(0.26 / 3)
    np.testing.assert_allclose(
        group_advantages([0.1, 0.3, 0.8], [5, 5, 5], eps=0.0), np.array([-0.3, -0.1, 0.4]) / std
    )
    np.testing.assert_allclose(
        group_advantages([0.1, 0.3, 0.8], [5, 5, 5], normalize="center"), [-0.3, -0.1, 0.4]
    )


def test_groups_are_apart_and_need_not_be_adjacent():
    scores, groups = np.array([0.0, 5.0, 1.0, 7.0]), np.array([9, 2, 9, 2])
    advantages = group_advantages(scores, groups, eps=0.0)
    np.testing.assert_allclose(advantages, [-1.0, -1.0, 1.0, 1.0])


def test_no_score_is_not_zero():
    scores, groups = np.array([0.0, 1.0, np.nan]), np.array([0, 0, 0])
    np.testing.assert_allclose(group_advantages(scores, groups, eps=0.0), [-1.0, 1.0, 0.0])
    filler = np.array([0.0, 1.0, 0.0])
    valid = np.array([True, True, False])
    np.testing.assert_array_equal(
        group_advantages(filler, groups, valid=valid), group_advantages(scores, groups)
    )


def test_degenerate_groups_give_exactly_zero():
    scores = np.array([0.1] * 7 + [0.4, np.nan, np.nan, np.nan, 0.2, 0.3])
    groups = np.array([0] * 7 + [1, 1, 2, 2, 3, 3])
    for normalize in ("std", "center"):
        advantages = group_advantages(scores, groups, normalize=normalize)
        assert (advantages[:11] == 0.0).all()
        assert (advantages[11:] != 0.0).all()
    assert degenerate_groups(scores, groups).tolist() == [0, 1, 2]


def test_rounding_is_no_signal():
    scores = np.full(3, 0.1) + np.array([0.0, 1e-17, 2e-17])
    scores[1] = np.nextafter(0.1, 1.0)
    assert (group_advantages(scores, [0, 0, 0], eps=0.0) == 0.0).all()


def test_eps_damps_a_plateau_but_keeps_its_order():
    advantages = group_advantages(0.5 + 1e-5 * np.array([-1.0, 0.0, 1.0]), [0, 0, 0])
    assert (np.diff(advantages) > 0).all()
    assert np.abs(advantages).max() < 0.1


def test_zero_is_what_episodes_without_groups_get():
    assert group_advantages([], []).shape == (0,)
    assert (group_advantages([0.3, 0.9], [0, 1]) == 0.0).all()


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=16), st.integers(1, 50))
def test_an_affine_map_of_the_scores_changes_nothing(steps, factor):
    scores, groups = np.array(steps) / 1000, np.zeros(len(steps), dtype=int)
    plain = group_advantages(scores, groups, eps=0.0)
    np.testing.assert_allclose(
        group_advantages(3 + factor * scores, groups, eps=0.0), plain, atol=1e-6
    )
    assert plain.mean() == pytest.approx(0.0, abs=1e-9)


def test_bad_arguments():
    with pytest.raises(ValueError, match="scores has 2, groups has 1"):
        group_advantages([0.1, 0.2], [0])
    with pytest.raises(ValueError, match="normalize must be 'std' or 'center', got 'mad'"):
        group_advantages([0.1], [0], normalize="mad")
    with pytest.raises(ValueError, match="eps"):
        group_advantages([0.1], [0], eps=-1.0)
    with pytest.raises(ValueError, match="scores holds 1 NaN"):
        group_advantages([np.nan], [0], valid=[True])
    with pytest.raises(ValueError, match="valid must be booleans"):
        group_advantages([0.1], [0], valid=[1])


def test_weights_have_mean_one_over_what_counts():
    np.testing.assert_allclose(normalized_weights([2.0, 1.0, 1.0, 0.0]), [2.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(
        normalized_weights([3.0, 1.0, 99.0], valid=[True, True, False]), [1.5, 0.5, 0.0]
    )


@given(st.floats(1.0, 4.0), st.integers(1, 200))
def test_equal_weights_are_one_bit_for_bit(weight, n):
    assert (normalized_weights(np.full(n, weight)) == 1.0).all()


def test_no_weights():
    assert normalized_weights([]).shape == (0,)
    np.testing.assert_array_equal(normalized_weights([2.0], valid=[False]), [0.0])


@pytest.mark.parametrize("weights", [[-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights must be finite"):
        normalized_weights(weights)
