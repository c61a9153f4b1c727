from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from wmrl_gym.world_models.dynamics.validity import (
    Validity,
    score_concordance,
    skill_correlation,
    success_auc,
)


def test_area_counts_pairs_in_order_and_half_the_ties() -> None:
    # Successes 0.8, 0.5; failures 0.5, 0.2, 0.9. In order: (0.8, 0.5), (0.8, 0.2), (0.5, 0.2),
    # a tie: (0.5, 0.5), out of order: the two with 0.9. (3 + 0.5) / 6.
    assert success_auc([0.8, 0.5, 0.5, 0.2, 0.9], [1, 1, 0, 0, 0]).value == pytest.approx(3.5 / 6)


def test_interval_solves_the_score_equation() -> None:
    predicted, true = [0.9, 0.8, 0.35, 0.4, 0.3, 0.1], [1, 1, 1, 0, 0, 0]
    found = success_auc(predicted, true)
    assert found.value == pytest.approx(8 / 9)
    for end in (found.lower, found.upper):
        n = 2.0
        variance = end * (1 - end) * (1 + n * (1 - end) / (2 - end) + n * end / (1 + end)) / 9
        assert abs(8 / 9 - end) == pytest.approx(norm.ppf(0.975) * variance**0.5, abs=1e-6)
    assert found.lower < found.value < found.upper


@pytest.mark.parametrize(("each", "lower"), [(5, 0.643), (20, 0.899)])
def test_perfect_separation_of_few_pairs_stays_uncertain(each: int, lower: float) -> None:
    found = success_auc(np.arange(2 * each), np.repeat([0, 1], each))
    assert found.value == found.upper == 1.0
    assert found.lower == pytest.approx(lower, abs=1e-3)


def test_perfectly_wrong_mirrors_perfectly_right() -> None:
    found = success_auc(-np.arange(10), np.repeat([0, 1], 5))
    assert (found.value, found.lower) == (0.0, 0.0)
    assert found.upper == pytest.approx(1 - 0.643, abs=1e-3)


def test_interval_covers_the_true_area_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    area = norm.cdf(1.0 / 2**0.5)
    true = np.repeat([1, 0], [8, 25])
    covered = 0
    for _ in range(400):
        found = success_auc(rng.normal(size=33) + true, true)
        covered += found.lower <= area <= found.upper
    assert 0.93 <= covered / 400 <= 0.99


@pytest.mark.parametrize("true", [[1, 1, 1], [0, 0, 0], []])
def test_one_kind_of_episode_says_nothing(true: list[int]) -> None:
    found = Validity.of([0.5] * len(true), true)
    assert np.isnan(found.auc)
    assert (found.lower, found.upper, found.pairs) == (0.0, 1.0, len(true))


def test_validity_counts() -> None:
    found = Validity.of([0.9, 0.1, 0.2], [True, False, False])
    assert (found.auc, found.pairs, found.successes) == (1.0, 3, 1)


def test_concordance_of_plain_success_is_the_area() -> None:
    predicted, true = [0.2, 0.4, 0.6, 0.1], [0, 1, 0, 1]
    assert score_concordance(predicted, true) == success_auc(predicted, true)


def test_concordance_of_scores_counts_pairs_in_order() -> None:
    # Of the 9 pairs with different true scores (0.3 comes twice) 2 are out of order and the
    # predictions of one are tied: (6 + 1 / 2) / 9.
    found = score_concordance([0.1, 0.2, 0.5, 0.5, 0.4], [0.0, 0.3, 0.3, 0.7, 0.8])
    assert found.value == pytest.approx(6.5 / 9.0)
    assert found.lower < found.value < found.upper


def test_concordance_interval_narrows_and_needs_five() -> None:
    rng = np.random.default_rng(1)
    true = rng.random(200)
    predicted = true + 0.3 * rng.normal(size=200)
    few, many = (score_concordance(predicted[:n], true[:n]) for n in (12, 200))
    assert many.upper - many.lower < few.upper - few.lower
    assert many.lower > 0.7
    assert np.isnan(score_concordance(predicted[:4], true[:4]).value)


def test_skill_correlation_compares_the_means_of_policies() -> None:
    policies = ["a", "a", "b", "b", "c", "c"]
    assert skill_correlation([0.1, 0.3, 0.9, 0.9, 0.5, 0.3], [0, 0, 1, 1, 1, 0], policies) == 1.0
    assert skill_correlation([0.9, 0.9, 0.1, 0.1, 0.5, 0.3], [0, 0, 1, 1, 1, 0], policies) == -1.0
    assert skill_correlation([0.5] * 6, [0, 0, 1, 1, 1, 0], policies) == 0.0
    assert np.isnan(skill_correlation([0.5] * 6, [0, 0, 1, 1, 1, 0], ["a", "b"] * 3))


def test_bad_input_names_the_mend() -> None:
    with pytest.raises(ValueError, match="score_concordance"):
        success_auc([0.1, 0.2], [0.5, 1.0])
    with pytest.raises(ValueError, match=r"confidence=1\.5"):
        success_auc([0.1, 0.2], [0.0, 1.0], confidence=1.5)
    with pytest.raises(ValueError, match="NaN"):
        success_auc([np.nan, 0.2], [0.0, 1.0])
    with pytest.raises(ValueError, match="lengths differ"):
        success_auc([0.2], [0.0, 1.0])
