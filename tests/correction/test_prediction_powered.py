from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction import RewardCorrection, group_advantages
from wmrl_gym.correction.prediction_powered import loss_coefficients, tuned_power


def test_coefficients_by_hand() -> None:
    own, prediction = loss_coefficients([True, True, False], [0.1, 1.0, 0.1], power=0.8)
    np.testing.assert_allclose(own, [10.0, 1.0, 0.8])
    np.testing.assert_allclose(prediction, [-7.2, 0.0, 0.0])


def test_coefficients_sum_to_one_on_average() -> None:
    own, prediction = loss_coefficients([True, False], [0.2, 0.2], power=0.6)
    total = own + prediction
    assert 0.2 * total[0] + 0.8 * total[1] == pytest.approx(1.0)


def test_all_anchors_are_the_plain_algorithm() -> None:
    own, prediction = loss_coefficients([True] * 3, [1.0] * 3, power=0.7)
    assert own.tolist() == [1.0] * 3
    assert prediction.tobytes() == np.zeros(3).tobytes()


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_mean_is_unbiased_whatever_the_model_says(power: float) -> None:
    # The "gradient" of a group is the mean of A s over its members, with fixed s. The model
    # prefers one kind of solution for no reason: no monotone map could mend that.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 4)
    kind = rng.integers(2, size=1600)
    score_function = rng.standard_normal(1600) + kind
    true = 0.5 + 0.2 * score_function + 0.1 * rng.standard_normal(1600)
    model = true + 0.8 * kind
    by_truth = group_advantages(true, groups, normalize="center")
    by_model = group_advantages(model, groups, normalize="center")
    target = np.mean(by_truth * score_function)
    estimates = []
    for seed in range(300):
        anchor = RewardCorrection(anchor_fraction=0.1, seed=seed).select(groups)
        own, prediction = loss_coefficients(anchor, np.full(1600, 0.1), power=power)
        score = np.where(anchor, by_truth, by_model)
        estimates.append(np.mean((own * score + prediction * by_model) * score_function))
    error = np.mean(estimates) - target
    assert abs(error) < 4 * np.std(estimates) / np.sqrt(300)  # the model alone is off by 0.15
    assert np.mean(by_model * score_function) - target > 0.14


def test_tuned_power_by_hand() -> None:
    # Centred scores: true +-0.1, model +-0.2, in each of four groups.
    groups = np.repeat(np.arange(4), 2)
    true, model = np.tile([0.4, 0.6], 4), np.tile([0.3, 0.7], 4)
    assert tuned_power(model, true, groups) == pytest.approx(0.5)


def test_power_of_a_model_that_says_nothing_or_the_opposite_is_zero() -> None:
    groups = np.repeat(np.arange(4), 2)
    true = np.tile([0.4, 0.6], 4)
    assert tuned_power(np.full(8, 0.5), true, groups) == 0.0
    assert tuned_power(1.0 - true, true, groups) == 0.0


def test_too_few_groups_leave_the_power_at_one() -> None:
    assert tuned_power([0.3, 0.7], [0.4, 0.6], [0, 0]) == 1.0


def test_tuned_power_has_the_least_variance() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(2000), 4)
    true = rng.random(8000)
    model = true + 0.8 * rng.random(8000)
    by_truth = group_advantages(true, groups, normalize="center")
    by_model = group_advantages(model, groups, normalize="center")
    best = tuned_power(model, true, groups)
    spread = {
        power: np.var(by_truth - power * by_model) for power in (best - 0.2, best, best + 0.2)
    }
    assert min(spread, key=lambda power: spread[power]) == best


@pytest.mark.parametrize(
    ("inclusion", "power", "message"),
    [(0.0, 1.0, r"\(0, 1\]"), (1.5, 1.0, r"\(0, 1\]"), (0.5, 2.0, "power=2.0")],
)
def test_bad_coefficients_are_refused(inclusion: float, power: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_coefficients([True], [inclusion], power=power)
