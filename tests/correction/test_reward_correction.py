from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from wmrl_gym.correction import RewardCorrection, group_advantages, normalized_weights


def batch_of_pairs(rng, group, size=8):
    """One anchor group of a world model with a curved bias and noise."""
    true = rng.uniform(size=size)
    predicted = np.clip(np.sqrt(true) + rng.normal(0.0, 0.05, size), 0.0, 1.0)
    return {"predicted": predicted, "true": true, "groups": np.full(size, group)}


def test_first_calibrated_then_weighed():
    rng = np.random.default_rng(0)
    correction = RewardCorrection(min_pairs=16, warmup_groups=2)
    history = []
    for group in range(6):
        correction.update(**batch_of_pairs(rng, group))
        history.append((correction.calibrated, correction.anchor_weight == 1.0))
    # The third group is the first that a calibrated map scores, the fourth ends the warm-up.
    assert history[:4] == [(False, True), (True, True), (True, True), (True, False)]
    assert correction.weighting.groups_seen == 4


def test_residuals_come_from_the_map_before_the_pairs():
    correction = RewardCorrection(min_pairs=2, warmup_groups=1)
    correction.update(predicted=[0.0, 1.0], true=[0.0, 0.5], groups=[0, 0])
    before = correction.map
    correction.update(predicted=[0.5, 0.6], true=[1.0, 0.9], groups=[1, 1])
    expected = np.mean((before([0.5, 0.6]) - [1.0, 0.9]) ** 2)
    assert correction.weighting.reference_residual == pytest.approx(expected)
    assert correction.anchor_weight == 2.0


def test_version_changes_with_pairs_and_with_nothing_else():
    correction = RewardCorrection(min_pairs=2)
    correction.update(predicted=[], true=[], groups=[])
    correction.update(predicted=[np.nan, 0.4], true=[0.3, np.nan], groups=[0, 0])
    assert correction.version == 0
    correction.update(predicted=[0.1, 0.4], true=[0.3, 0.5], groups=[0, 0])
    assert correction.version == 1
    map_, weight = correction.map, correction.anchor_weight
    correction.transform([0.5])
    correction.weights([0, 1])
    correction.diagnostics()
    assert correction.map is map_
    assert (correction.version, correction.anchor_weight) == (1, weight)


def test_episodes_without_both_scores_make_no_pair():
    whole, holed = RewardCorrection(min_pairs=2), RewardCorrection(min_pairs=2)
    whole.update(predicted=[0.1, 0.9], true=[0.2, 0.6], groups=[0, 0])
    holed.update(
        predicted=[0.1, np.nan, 0.9, 0.5], true=[0.2, 0.9, 0.6, np.nan], groups=[0, 0, 0, 0]
    )
    assert whole.state_dict() == holed.state_dict()


def test_weights_touch_anchors_only():
    correction = RewardCorrection(anchor_fraction=0.25, seed=5, min_pairs=2, warmup_groups=1)
    correction.update(predicted=[0.0, 1.0], true=[0.0, 0.5], groups=[0, 0])
    correction.update(predicted=[0.5, 0.6], true=[1.0, 0.9], groups=[1, 1])
    groups = np.repeat(np.arange(8), 2)
    weights = correction.weights(groups)
    anchors = correction.select(groups)
    assert (weights[anchors] == 2.0).all()
    assert (weights[~anchors] == 1.0).all()
    assert [correction.is_anchor(int(g)) for g in groups] == anchors.tolist()


def test_a_run_without_anchors_is_the_raw_world_model():
    correction = RewardCorrection(anchor_fraction=0.0)
    groups, predicted = np.repeat(np.arange(50), 8), np.random.default_rng(0).uniform(size=400)
    assert not correction.select(groups).any()
    np.testing.assert_array_equal(correction.transform(predicted), predicted)
    np.testing.assert_array_equal(normalized_weights(correction.weights(groups)), np.ones(400))


def test_a_batch_of_anchors_only_is_the_plain_algorithm():
    rng = np.random.default_rng(0)
    correction = RewardCorrection(anchor_fraction=1.0, min_pairs=16, warmup_groups=2)
    for group in range(8):
        correction.update(**batch_of_pairs(rng, group))
    assert correction.anchor_weight > 1.0
    true, groups = rng.uniform(size=64), np.repeat(np.arange(8), 8)
    plain = group_advantages(true, groups)
    np.testing.assert_array_equal(normalized_weights(correction.weights(groups)) * plain, plain)


def test_each_half_of_the_method_alone():
    only_map = RewardCorrection(min_pairs=16, warmup_groups=2, denoise=False)
    only_weight = RewardCorrection(min_pairs=16, warmup_groups=2, debias=False)
    rng = np.random.default_rng(0)
    for group in range(8):
        pairs = batch_of_pairs(rng, group)
        only_map.update(**pairs)
        only_weight.update(**pairs)
    assert only_map.calibrated
    assert only_map.anchor_weight == 1.0
    assert not only_weight.calibrated
    assert only_weight.transform([0.3]) == [0.3]
    assert only_weight.weighting.groups_seen == 8
    assert only_weight.anchor_weight > 1.0


def test_parts_that_are_still_empty_are_kept():
    correction = RewardCorrection(min_pairs=7, max_weight=3.0)
    parts = correction.sampler, correction.debiaser, correction.weighting
    correction.update(predicted=[], true=[], groups=[])
    correction.load_state_dict(RewardCorrection().state_dict())
    assert (correction.sampler, correction.debiaser, correction.weighting) == parts
    assert correction.debiaser.min_pairs == 7
    assert correction.weighting.max_weight == 3.0


@pytest.mark.parametrize(
    "copy", [lambda s: json.loads(json.dumps(s)), lambda s: pickle.loads(pickle.dumps(s))]
)
@pytest.mark.parametrize("at", [1, 3, 9])
def test_a_resumed_run_continues_as_if_never_stopped(at, copy):
    rng = np.random.default_rng(0)
    stream = [batch_of_pairs(rng, group) for group in range(14)]
    through = RewardCorrection(min_pairs=16, warmup_groups=4)
    for pairs in stream[:at]:
        through.update(**pairs)
    resumed = RewardCorrection(min_pairs=16, warmup_groups=4)
    resumed.load_state_dict(copy(through.state_dict()))
    for pairs in stream[at:]:
        through.update(**pairs)
        resumed.update(**pairs)
    assert resumed.state_dict() == through.state_dict()
    np.testing.assert_equal(resumed.diagnostics(), through.diagnostics())
    queries = np.linspace(0, 1, 50)
    np.testing.assert_array_equal(resumed.transform(queries), through.transform(queries))


def test_a_state_is_a_snapshot():
    correction = RewardCorrection(min_pairs=2)
    correction.update(predicted=[0.1, 0.9], true=[0.2, 0.6], groups=[0, 0])
    state = correction.state_dict()
    before = json.dumps(state)
    correction.update(predicted=[0.3, 0.5], true=[0.2, 0.6], groups=[1, 1])
    assert json.dumps(state) == before


def test_diagnostics_are_flat_floats_from_the_start():
    correction = RewardCorrection()
    empty = correction.diagnostics()
    assert all(type(value) is float for value in empty.values())
    assert empty["pairs"] == empty["calibrated"] == empty["anchor_groups"] == 0.0
    assert np.isnan(empty["residual"])
    assert np.isnan(empty["residual_raw"])

    rng = np.random.default_rng(0)
    for group in range(40):
        correction.update(**batch_of_pairs(rng, group))
    correction.update(predicted=[0.5, 0.6], true=[0.3, 0.3], groups=[40, 40])
    full = correction.diagnostics()
    assert all(type(value) is float for value in full.values())
    assert full.keys() == empty.keys()
    assert full["pairs"] == 322
    assert full["version"] == full["anchor_groups"] == 41
    assert full["usable_anchor_groups"] == 40
    assert full["residual"] < 0.5 * full["residual_raw"]
    assert full["bias_reduction"] > 0.2
    assert full["rank_correlation"] > 0.8
    assert full["flatness"] < 0.2


def test_predictions_out_of_bounds_count_as_the_bound():
    correction = RewardCorrection(min_pairs=2)
    correction.update(predicted=[-5.0, 5.0], true=[0.0, 1.0], groups=[0, 0])
    assert correction.diagnostics()["residual_raw"] == 0.0
    np.testing.assert_allclose(correction.transform([-5.0, 0.5, 5.0]), [0.0, 0.5, 1.0])


def test_an_error_changes_nothing():
    rng = np.random.default_rng(0)
    correction = RewardCorrection(min_pairs=16, warmup_groups=1)
    for group in range(4):
        correction.update(**batch_of_pairs(rng, group))
    before = correction.state_dict()
    for bad, message in (
        ({"predicted": [0.1, 0.2], "true": [0.1], "groups": [0]}, "predicted has 2, true has 1"),
        ({"predicted": [0.1], "true": [1.1], "groups": [0]}, r"true holds .* outside bounds"),
        ({"predicted": [0.1], "true": [0.1], "groups": [0.5]}, "groups must be integers"),
        ({"predicted": [0.1], "true": [0.1], "groups": [-1]}, "groups must not be negative"),
    ):
        with pytest.raises(ValueError, match=message):
            correction.update(**bad)
    assert correction.state_dict() == before


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"fraction must lie in \[0, 1\], got 2"):
        RewardCorrection(anchor_fraction=2)
    with pytest.raises(ValueError, match="bounds"):
        RewardCorrection(bounds=(0.0,))
    with pytest.raises(ValueError, match="warmup_groups"):
        RewardCorrection(warmup_groups=0)


def test_correction_brings_the_gradient_of_the_mixture_nearer_to_the_real_one():
    # Group-relative gradients with a world model that is curved and noisy, a tenth anchored.
    rng = np.random.default_rng(0)
    correction = RewardCorrection(anchor_fraction=0.1, seed=0)
    errors = {"raw": 0.0, "corrected": 0.0}
    for batch in range(150):
        groups = np.repeat(np.arange(10 * batch, 10 * batch + 10), 8)
        true = rng.beta(2.0, 2.0, 80)
        predicted = np.clip(true**3 + rng.normal(0.0, 0.02, 80), 0.0, 1.0)
        anchors = correction.select(groups)
        if batch >= 50:
            wanted = group_advantages(true, groups)
            for name, scores in (
                ("raw", predicted),
                ("corrected", correction.transform(predicted)),
            ):
                used = group_advantages(np.where(anchors, true, scores), groups)
                errors[name] += float(((used - wanted) ** 2).sum())
        correction.update(predicted=predicted[anchors], true=true[anchors], groups=groups[anchors])
    assert errors["corrected"] < 0.6 * errors["raw"]
    assert correction.anchor_weight == pytest.approx(2.0, abs=1.0)
