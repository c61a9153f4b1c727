"""Scores of a group in another order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_gym.errors import WorldModelError
from wmrl_gym.executors.reordering import reordered

NAN = math.nan


def test_by_hand() -> None:
    assert reordered([0.1, 0.4, 0.3], [9.0, 1.0, 5.0]) == [0.4, 0.1, 0.3]
    assert reordered([0.1, 0.4, 0.3], [NAN, 1.0, 0.0]) == [0.1, 0.4, 0.3]
    assert reordered([0.1, 0.4, 0.3], [NAN, 0.0, 1.0]) == [0.1, 0.3, 0.4]
    assert reordered([0.1, 0.4, 0.3], [NAN] * 3) == [0.1, 0.4, 0.3]
    assert reordered([], []) == []


def test_equal_preferences_change_nothing() -> None:
    assert reordered([0.3, 0.1, 0.2], [1.0, 1.0, 1.0]) == [0.3, 0.1, 0.2]
    assert reordered([0.3, 0.1, 0.2], [1.0, 2.0, 1.0]) == [0.2, 0.3, 0.1]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(allow_nan=True)), max_size=8))
def test_the_scores_stay_what_they_are(pairs: list[tuple[float, float]]) -> None:
    values, preferences = [v for v, _ in pairs], [p for _, p in pairs]
    given_out = reordered(values, preferences)
    assert sorted(given_out) == sorted(values)
    for i, j in np.ndindex(len(pairs), len(pairs)):
        if preferences[i] < preferences[j]:
            assert given_out[i] <= given_out[j]


def test_lengths_must_agree() -> None:
    with pytest.raises(WorldModelError, match="3 preferences for a group of 2"):
        reordered([0.1, 0.2], [1.0, 2.0, 3.0])
