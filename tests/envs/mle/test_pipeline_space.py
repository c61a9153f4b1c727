"""The tables of choices."""

from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.envs.mle.pipeline_space import DIMENSIONS, FAMILIES, NVEC, choice_features, describe


def test_an_action_is_described_by_name() -> None:
    assert describe([1, 1, 2, 3, 4, 3, 0, 2, 1]) == {
        "imputation": "median",
        "encoding": "one_hot",
        "scaling": "min_max",
        "expansion": "select",
        "model": "random_forest",
        "capacity": "huge",
        "regularisation": "low",
        "validation": "cross_validation",
        "target": "adjusted",
    }


@pytest.mark.parametrize("action", [[0] * 8, [0] * 10, 3, [[0] * 9], [0.5] * 9, ["x"] * 9])
def test_what_is_no_row_of_whole_numbers_is_refused(action: object) -> None:
    with pytest.raises(ValueError, match="9 whole numbers"):
        describe(action)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("action", [NVEC, -np.ones_like(NVEC)])
def test_what_is_out_of_range_is_refused(action: np.ndarray) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        describe(action)


def test_names_are_unique() -> None:
    assert len({dimension.name for dimension in DIMENSIONS}) == len(DIMENSIONS)
    assert all(len(set(d.options)) == len(d.options) for d in DIMENSIONS)


def test_strengths_run_from_weak_to_strong() -> None:
    weaker_when_larger = {"C", "learning_rate"}
    for family in FAMILIES.values():
        for estimator in (family.classifier, family.regressor):
            falls = estimator.strength in weaker_when_larger
            ordered = sorted(estimator.strengths, reverse=falls)
            assert list(estimator.strengths) == ordered
            assert len(set(ordered)) == 5


def test_features_are_one_hot_with_two_ranks() -> None:
    features = choice_features(describe(NVEC - 1))
    ranks = {"choice/capacity": 3.0, "choice/regularisation": 2.0}
    assert {name: features.pop(name) for name in ranks} == ranks
    assert set(features.values()) == {1.0}
    assert len(features) == len(DIMENSIONS)
    assert "choice/model=neural_network" in features
