from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction import (
    excess_variance,
    fuse_gradients,
    group_advantages,
    normalized_weights,
    optimal_weight,
)


def test_hand_computed():
    # (2 * [2, 0] + [9, 3]) / (2 * 1 + 3)
    fused = fuse_gradients([2.0, 0.0], [9.0, 3.0], anchors=1, model_groups=3, weight=2.0)
    np.testing.assert_allclose(fused, [13 / 5, 3 / 5])


def test_one_stream_alone_is_its_mean_whatever_the_weight():
    zero = np.zeros(2)
    total = np.array([3.0, 6.0])
    for weight in (1.0, 2.0, 4.0):
        only_anchors = fuse_gradients(total, zero, anchors=3, model_groups=0, weight=weight)
        only_model = fuse_gradients(zero, total, anchors=0, model_groups=3, weight=weight)
        np.testing.assert_allclose(only_anchors, [1.0, 2.0])
        np.testing.assert_allclose(only_model, [1.0, 2.0])


def test_weighing_each_episode_gives_the_same_gradient():
    rng = np.random.default_rng(0)
    scores, directions = rng.uniform(size=(4, 8)), rng.normal(size=(4, 8, 3))
    groups = np.repeat(np.arange(4), 8)
    advantages = group_advantages(scores.ravel(), groups)
    weights = normalized_weights(np.where(groups == 2, 2.5, 1.0))
    by_loss = (weights * advantages) @ directions.reshape(32, 3) / 32

    gradients = (advantages.reshape(4, 8, 1) * directions).mean(axis=1)
    others = gradients[[0, 1, 3]].sum(axis=0)
    by_stream = fuse_gradients(gradients[2], others, anchors=1, model_groups=3, weight=2.5)
    np.testing.assert_allclose(by_loss, by_stream)


def test_costs_of_a_wrong_weight_as_tabulated():
    ratios = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    tenth = 100 * excess_variance(2.0, ratios, 0.1)
    np.testing.assert_allclose(tenth, [7.4, 1.2, 0.0, 2.5, 7.4, 19.8], atol=0.05)
    quarter = 100 * excess_variance(2.0, ratios, 0.25)
    np.testing.assert_allclose(quarter, [12, 2, 0, 4, 12, 32], atol=0.05)


def gradients_of_groups(rng, groups, noise):
    """Per-group policy gradients of centred scores in a linear-Gaussian model, `[groups, 4]`."""
    directions = rng.normal(size=(groups, 8, 4))
    true = rng.normal(size=(groups, 8))
    scores = (true + noise * rng.normal(size=true.shape)).ravel()
    advantages = group_advantages(scores, np.repeat(np.arange(groups), 8), normalize="center")
    return (advantages.reshape(groups, 8, 1) * directions).mean(axis=1)


def test_fused_gradient_beats_both_streams_and_reaches_the_optimum():
    # Noise as large as the spread of the truth: the true ratio of variances is 2.
    rng, batches = np.random.default_rng(0), 10_000
    anchors = gradients_of_groups(rng, batches, noise=0.0)
    model = gradients_of_groups(rng, 9 * batches, noise=1.0)
    ratio = optimal_weight(anchors.var(), model.var())
    assert ratio == pytest.approx(2.0, rel=0.02)

    anchor_sum, model_sum = anchors, model.reshape(batches, 9, 4).sum(axis=1)

    def variance(weight):
        fused = fuse_gradients(anchor_sum, model_sum, anchors=1, model_groups=9, weight=weight)
        return fused.var()

    best = 1.0 / (1.0 / anchors.var() + 9.0 / model.var())
    assert variance(2.0) == pytest.approx(best, rel=0.02)
    assert variance(2.0) < 0.95 * (model_sum / 9).var()
    assert variance(2.0) < 0.25 * anchor_sum.var()
    for weight in (1.0, 4.0, 8.0):
        expected = float(excess_variance(weight, 2.0, 0.1))
        assert variance(weight) / variance(2.0) - 1.0 == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model_sum": [1.0, 2.0, 3.0]}, "anchor_sum has the shape"),
        ({"anchors": -1}, "anchors=-1"),
        ({"weight": -1.0}, r"weight must be finite and >= 0, got -1\.0"),
        ({"weight": float("nan")}, "weight"),
        ({"anchors": 0, "model_groups": 0}, "nothing to fuse"),
        ({"weight": 0.0, "model_groups": 0}, "nothing to fuse"),
    ],
)
def test_bad_arguments(arguments, message):
    good = {
        "anchor_sum": [1.0, 2.0],
        "model_sum": [1.0, 2.0],
        "anchors": 1,
        "model_groups": 1,
        "weight": 2.0,
    }
    with pytest.raises(ValueError, match=message):
        fuse_gradients(**(good | arguments))


def test_bad_variances_and_shares():
    with pytest.raises(ValueError, match=r"anchor_variance must be .* got 0\.0"):
        optimal_weight(0.0, 1.0)
    with pytest.raises(ValueError, match="model_variance"):
        optimal_weight(1.0, float("inf"))
    with pytest.raises(ValueError, match="must be positive"):
        excess_variance(0.0, 2.0, 0.1)
    with pytest.raises(ValueError, match="anchor_share"):
        excess_variance(2.0, 2.0, 1.1)
