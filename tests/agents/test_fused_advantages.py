from __future__ import annotations

import numpy as np
import pytest
import torch as th

from wmrl_gym.agents.fused_advantages import fused_advantages
from wmrl_gym.agents.rollout import GroupBatch


def make_batch(**changes: object) -> GroupBatch:
    """Two groups of two: scores 0.2, 0.6 and 0.5, 0.5 + 0.2; the first one is an anchor."""
    fields: dict[str, object] = {
        "observations": th.zeros(4, 1),
        "actions": th.zeros(4, 1),
        "log_probs": th.zeros(4),
        "episodes": th.arange(4),
        "scores": np.array([0.2, 0.6, 0.5, 0.7]),
        "lengths": np.ones(4, dtype=np.int64),
        "groups": np.array([0, 0, 1, 1]),
        "weights": np.array([3.0, 3.0, 1.0, 1.0]),
        "valid": np.ones(4, dtype=np.bool_),
        "calibrated": np.array([0.3, 0.5, 0.5, 0.7]),
        "controls": np.zeros(4),
    }
    return GroupBatch(**fields | changes)  # type: ignore[arg-type]  # by name


def test_inverse_variance_by_hand() -> None:
    advantages, weights = fused_advantages(make_batch(), normalize="center")
    np.testing.assert_allclose(advantages, [-0.2, 0.2, -0.1, 0.1])
    np.testing.assert_allclose(weights, [1.5, 1.5, 0.5, 0.5])


def test_prediction_powered_by_hand() -> None:
    # p = 1/4, lambda = 1/2: anchors 4 A(true) - 1.5 A(calibrated), others 0.5 A(calibrated).
    batch = make_batch(
        weights=np.array([4.0, 4.0, 0.5, 0.5]), controls=np.array([-1.5, -1.5, 0.0, 0.0])
    )
    advantages, weights = fused_advantages(batch, normalize="center")
    np.testing.assert_allclose(advantages, [-0.65, 0.65, -0.05, 0.05])
    np.testing.assert_allclose(weights, np.ones(4))


def test_a_batch_without_anchors_does_not_count_for_more() -> None:
    batch = make_batch(weights=np.full(4, 0.5))
    advantages, weights = fused_advantages(batch, normalize="center")
    np.testing.assert_allclose(advantages * weights, [-0.1, 0.1, -0.05, 0.05])


def test_an_anchor_whose_prediction_failed_keeps_its_own_advantage() -> None:
    batch = make_batch(
        weights=np.array([4.0, 4.0, 1.0, 1.0]),
        controls=np.array([-3.0, -3.0, 0.0, 0.0]),
        calibrated=np.full(4, np.nan),
    )
    advantages, _ = fused_advantages(batch, normalize="center")
    np.testing.assert_allclose(advantages, [-0.8, 0.8, -0.1, 0.1])


@pytest.mark.parametrize("controls", [np.zeros(4), np.full(4, -1.0)])
def test_episodes_without_a_score_count_nothing(controls: np.ndarray) -> None:
    batch = make_batch(controls=controls, valid=np.array([True, True, True, False]))
    advantages, weights = fused_advantages(batch, normalize="std")
    assert advantages[3] == weights[3] == 0.0
    assert np.isfinite(advantages).all()
