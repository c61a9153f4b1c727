"""Weights of a batch."""

from __future__ import annotations

import numpy as np

from wmrl_gym.agents.verl.weights import batch_weights


def test_mean_one_over_what_counts() -> None:
    # Group 7 is an anchor; its second member executed nothing and does not know. The last row
    # is padding.
    weights = batch_weights([7, 7, 3, 3, 7], [3.0, 1.0, 1.0, 1.0, 9.0], [True] * 4 + [False])
    assert weights.tolist() == [1.5, 1.5, 0.5, 0.5, 0.0]


def test_equal_weights_are_exactly_one() -> None:
    assert batch_weights([1, 2, 3], [1.7] * 3, [True] * 3).tolist() == [1.0, 1.0, 1.0]


def test_nothing_but_padding() -> None:
    assert np.array_equal(batch_weights([1, 1], [1.0, 1.0], [False, False]), [0.0, 0.0])
