from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction.mean_estimate import prediction_powered_mean, recalibrated_rate


def test_by_hand() -> None:
    # Anchors: true mean 1/2, predicted mean 0.5; others predicted 0.6 on average, 4 of 6 episodes.
    # cov = 0.1, var = 0.16 over the anchors: lambda = 0.625. 0.5 + 0.625 * 4/6 (0.6 - 0.5).
    found = prediction_powered_mean([0.5, 0.7, 0.8, 0.4], [0.9, 0.1], [0.75, 0.25])
    assert found.power == pytest.approx(0.625)
    assert found.value == pytest.approx(0.5 + 0.625 * 4 / 6 * 0.1)
    # r - m c with m = 5/12: 0.375 and 0.2083; variance 1/72, over 2; others' 1/30 over 4.
    expected = 1 / 144 + (25 / 144) / 30 / 4
    assert found.standard_error == pytest.approx(expected**0.5)


def test_anchors_that_happen_to_be_alike_ask_for_no_more_than_full_trust() -> None:
    found = prediction_powered_mean([0.9, 0.1], [0.02, 0.01, 0.01], [1.0, 0.0, 0.0])
    assert found.power == 1.0


def test_the_power_is_that_of_least_variance() -> None:
    rng = np.random.default_rng(0)
    c = rng.random(200)
    r = 0.5 * c + 0.1 * rng.normal(size=200)
    others = rng.random(1000)
    best = prediction_powered_mean(others, c, r)
    assert best.power == pytest.approx(0.5, abs=0.05)
    for power in np.linspace(0, 1, 11):
        other = prediction_powered_mean(others, c, r, power=float(power))
        assert best.standard_error <= other.standard_error * 1.001


def test_power_0_is_the_mean_of_the_anchors_and_no_others_neither() -> None:
    anchors = [1.0, 0.0, 1.0]
    assert prediction_powered_mean([0.9], [0.1, 0.5, 0.3], anchors, power=0.0).value == 2 / 3
    assert prediction_powered_mean([], [0.1, 0.5, 0.3], anchors).value == 2 / 3
    assert prediction_powered_mean([0.4], [0.3, 0.3, 0.3], anchors).power == 0.0


def test_unbiased_and_as_certain_as_it_says_even_for_a_biased_model() -> None:
    rng = np.random.default_rng(1)
    errors, said, plain = [], [], []
    for _ in range(1500):
        truth = rng.random(100) < 0.4
        predicted = 0.6 * truth + 0.2 + 0.1 * rng.random(100)  # far too high for failures
        found = prediction_powered_mean(predicted[20:], predicted[:20], truth[:20])
        errors.append(found.value - 0.4)
        said.append(found.standard_error)
        plain.append(truth[:20].mean() - 0.4)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 1500**0.5
    assert np.mean(said) == pytest.approx(np.std(errors), rel=0.15)
    assert np.std(errors) < 0.7 * np.std(plain)


def test_useless_predictions_cost_next_to_nothing() -> None:
    rng = np.random.default_rng(2)
    errors, plain = [], []
    for _ in range(1500):
        truth, predicted = rng.random(100) < 0.4, rng.random(100)
        found = prediction_powered_mean(predicted[20:], predicted[:20], truth[:20])
        errors.append(found.value - 0.4)
        plain.append(truth[:20].mean() - 0.4)
    assert np.std(errors) < 1.1 * np.std(plain)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least one anchor"):
        prediction_powered_mean([0.5], [], [])
    with pytest.raises(ValueError, match="lengths differ"):
        prediction_powered_mean([0.5], [0.1], [0.0, 1.0])
    with pytest.raises(ValueError, match="power=-1"):
        prediction_powered_mean([0.5], [0.1], [0.0], power=-1)
    with pytest.raises(ValueError, match="NaN"):
        prediction_powered_mean([np.nan], [0.1], [0.0])
    assert np.isnan(prediction_powered_mean([0.5], [0.1], [0.0]).standard_error)


def test_recalibrated_by_hand() -> None:
    # All say 1/2, so that only the shift a counts. After two successes its log posterior is
    # 2 log sigmoid(a) - a^2 / 2 s^2, at its peak where 2 (1 - sigmoid(a)) = a / s^2.
    shifts = {0.25: 0.06061, 0.5: 0.22232, 1.0: 0.67483, 2.0: 1.48155, 4.0: 2.47778}
    rates, evidence = [], []
    for spread, shift in shifts.items():
        rate = 1 / (1 + np.exp(-shift))
        assert 2 * (1 - rate) == pytest.approx(shift / spread**2, abs=1e-3)
        rates.append((2 + 2 * rate) / 4)
        # Laplace: prior density times posterior width.
        curvature = 2 * rate * (1 - rate) + spread**-2
        evidence.append(rate**2 * np.exp(-0.5 * (shift / spread) ** 2) / spread / curvature**0.5)
    found = recalibrated_rate([0.5, 0.5], [0.5, 0.5], [1.0, 1.0])
    assert found == pytest.approx(np.average(rates, weights=evidence), abs=1e-3)


def test_the_more_anchors_object_the_less_the_models_level_counts() -> None:
    errors = []
    for anchors in (2, 20, 200):
        truth = np.tile([1.0, 0.0, 0.0, 0.0], 500)
        predicted = np.where(truth > 0.5, 0.9, 0.7)  # far too hopeful
        found = recalibrated_rate(predicted[anchors:], predicted[:anchors], truth[:anchors])
        errors.append(found - 0.25)
    assert errors[0] > 0.15 > errors[1] > errors[2] > -0.01
    assert errors[2] < 0.02


def test_a_model_that_is_nearly_right_beats_a_few_anchors_and_a_wrong_one_does_little_harm() -> (
    None
):
    rng = np.random.default_rng(3)
    errors: dict[str, list[float]] = {"plain": [], "right": [], "hopeful": []}
    for _ in range(200):
        truth = rng.random(200) < 0.5
        odds = np.where(truth, 1.0, -1.0) + rng.normal(size=200)
        for name, offset in (("right", 0.3), ("hopeful", 1.5)):
            c = 1 / (1 + np.exp(-odds - offset))
            found = recalibrated_rate(c[20:], c[:20], truth[:20])
            errors[name].append(found - truth.mean())
        errors["plain"].append(truth[:20].mean() - truth.mean())
    rmse = {name: np.sqrt(np.mean(np.square(each))) for name, each in errors.items()}
    assert rmse["right"] < 0.7 * rmse["plain"]
    assert rmse["hopeful"] < 1.3 * rmse["plain"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [], []), "at least one anchor"),
        (([0.5], [0.1], [0.0, 1.0]), "anchor_true"),
        (([1.5], [0.1], [0.0]), "predicted has 1.5"),
        (([0.5], [0.1], [2.0]), "anchor_true has 2.0"),
        (([np.nan], [0.1], [0.0]), "predicted"),
    ],
)
def test_recalibration_refuses_what_is_no_probability(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recalibrated_rate(*arguments)
