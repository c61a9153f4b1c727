"""The choices that make a machine-learning pipeline, as tables.

Each row of `DIMENSIONS` is one entry of a `MultiDiscrete` action; each row of `FAMILIES`
says which scikit-learn estimators a model family stands for and what `capacity` and
`regularisation` mean for it. Nothing here runs: `pipeline_script.render` writes the script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Arguments = Mapping[str, Any]
"""Keyword arguments of an estimator, as they stand in the script."""


@dataclass(frozen=True)
class Dimension:
    """One choice of the action."""

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Estimator:
    """One scikit-learn estimator of a family, for classification or for regression."""

    module: str
    name: str
    strength: str
    """The argument that the regularisation sets."""
    strengths: tuple[float, float, float, float, float]
    """Its values from weak to strong regularisation. Low, default and high are the middle
    three; the outer two are only reached by a search around low or high."""
    fixed: Arguments = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A model family: its two estimators and what capacity means for them."""

    classifier: Estimator
    regressor: Estimator
    capacities: tuple[Arguments, Arguments, Arguments, Arguments] = ({}, {}, {}, {})
    """Arguments for small, medium, large and huge."""
    knots: tuple[int, int, int, int] | None = None
    """Spline knots per column that stand before the estimator; 0 for none."""
    members: tuple[int, int, int, int] | None = None
    """How many copies see half of the columns each and are averaged; 1 for none."""
    class_weight: bool = True
    """Whether the classifier can weigh classes; otherwise rare classes are resampled."""
    probabilities: bool = True
    """Whether the classifier has `predict_proba`; otherwise it has to be calibrated."""


REGULARISATIONS = ("low", "default", "high")
CAPACITIES = ("small", "medium", "large", "huge")

_SEEDED: Arguments = {"random_state": 0}
_LEAVES = (1, 2, 5, 15, 50)
_PENALTIES = (0.001, 0.1, 1.0, 10.0, 100.0)
_INVERSE_PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
_NEIGHBOURS = (1, 3, 10, 30, 90)
_RATES = (0.4, 0.2, 0.1, 0.05, 0.02)
_DECAYS = (1e-5, 1e-3, 0.1, 1.0, 10.0)


def _trees(count: str, regressor_fraction: float) -> Family:
    """A forest; regression trees look at a fraction of the columns, classifiers at the root."""
    return Family(
        classifier=Estimator(
            "sklearn.ensemble", f"{count}Classifier", "min_samples_leaf", _LEAVES, _SEEDED
        ),
        regressor=Estimator(
            "sklearn.ensemble",
            f"{count}Regressor",
            "min_samples_leaf",
            _LEAVES,
            {"max_features": regressor_fraction, **_SEEDED},
        ),
        capacities=(
            {"n_estimators": 30},
            {"n_estimators": 100},
            {"n_estimators": 250},
            {"n_estimators": 600},
        ),
    )


FAMILIES: Mapping[str, Family] = {
    "linear": Family(
        classifier=Estimator(
            "sklearn.linear_model", "LogisticRegression", "C", _INVERSE_PENALTIES, {"max_iter": 500}
        ),
        regressor=Estimator("sklearn.linear_model", "Ridge", "alpha", _PENALTIES),
        knots=(0, 3, 6, 12),
    ),
    "nearest_neighbours": Family(
        classifier=Estimator(
            "sklearn.neighbors", "KNeighborsClassifier", "n_neighbors", _NEIGHBOURS
        ),
        regressor=Estimator("sklearn.neighbors", "KNeighborsRegressor", "n_neighbors", _NEIGHBOURS),
        members=(1, 10, 30, 100),
        class_weight=False,
    ),
    "support_vectors": Family(
        classifier=Estimator("sklearn.svm", "SVC", "C", _INVERSE_PENALTIES),
        regressor=Estimator("sklearn.svm", "SVR", "C", _INVERSE_PENALTIES),
        capacities=({"gamma": 0.003}, {"gamma": 0.03}, {"gamma": 0.3}, {"gamma": 3.0}),
        probabilities=False,
    ),
    "tree": Family(
        classifier=Estimator(
            "sklearn.tree", "DecisionTreeClassifier", "min_samples_leaf", _LEAVES, _SEEDED
        ),
        regressor=Estimator(
            "sklearn.tree", "DecisionTreeRegressor", "min_samples_leaf", _LEAVES, _SEEDED
        ),
        capacities=({"max_depth": 2}, {"max_depth": 5}, {"max_depth": 10}, {"max_depth": None}),
    ),
    "random_forest": _trees("RandomForest", 0.5),
    "extra_trees": _trees("ExtraTrees", 0.5),
    "boosting": Family(
        classifier=Estimator(
            "sklearn.ensemble", "HistGradientBoostingClassifier", "learning_rate", _RATES, _SEEDED
        ),
        regressor=Estimator(
            "sklearn.ensemble", "HistGradientBoostingRegressor", "learning_rate", _RATES, _SEEDED
        ),
        capacities=(
            {"max_iter": 50, "max_leaf_nodes": 4},
            {"max_iter": 100, "max_leaf_nodes": 8},
            {"max_iter": 200, "max_leaf_nodes": 16},
            {"max_iter": 400, "max_leaf_nodes": 32},
        ),
    ),
    "neural_network": Family(
        classifier=Estimator("sklearn.neural_network", "MLPClassifier", "alpha", _DECAYS, _SEEDED),
        regressor=Estimator("sklearn.neural_network", "MLPRegressor", "alpha", _DECAYS, _SEEDED),
        capacities=(
            {"hidden_layer_sizes": (16,), "max_iter": 100},
            {"hidden_layer_sizes": (64,), "max_iter": 150},
            {"hidden_layer_sizes": (64, 64), "max_iter": 200},
            {"hidden_layer_sizes": (128, 128), "max_iter": 300},
        ),
        class_weight=False,
    ),
}

DIMENSIONS = (
    Dimension("imputation", ("none", "median", "mean_and_indicator", "drop_columns")),
    Dimension("encoding", ("ordinal", "one_hot", "target", "drop")),
    Dimension("scaling", ("none", "standard", "min_max", "quantile")),
    Dimension("expansion", ("none", "polynomial", "pca", "select")),
    Dimension("model", tuple(FAMILIES)),
    Dimension("capacity", CAPACITIES),
    Dimension("regularisation", REGULARISATIONS),
    Dimension("validation", ("none", "hold_out", "cross_validation")),
    Dimension("target", ("plain", "adjusted")),
)
"""The action, entry by entry. `adjusted` fits a regression to log(1 + target), and gives a
classifier's rare classes more weight. `validation` tries three neighbouring strengths of
the regularisation and keeps the best."""

NVEC = np.array([len(dimension.options) for dimension in DIMENSIONS], dtype=np.int64)
"""`[9]` int64, number of options of each dimension."""


def describe(action: ArrayLike) -> dict[str, str]:
    """The choices of an action by name.

    Args:
        action: `[9]` int, one option of each of `DIMENSIONS`.

    Returns:
        The name of the option by the name of its dimension.

    Raises:
        ValueError: If the shape is wrong or an entry is out of range.
    """
    indices = np.asarray(action)
    if indices.shape != NVEC.shape or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"action must be {len(NVEC)} whole numbers, got {action!r}")
    if np.any(indices < 0) or np.any(indices >= NVEC):
        raise ValueError(f"action must lie in 0..{(NVEC - 1).tolist()}, got {indices.tolist()}")
    return {
        dimension.name: dimension.options[index]
        for dimension, index in zip(DIMENSIONS, indices, strict=True)
    }


def choice_features(choices: Mapping[str, str]) -> dict[str, float]:
    """The choices as numbers for a surrogate.

    One-hot names, and for the two ordered dimensions also their rank, which lets a model
    learn from few examples that huge is beyond large.
    """
    features = {f"choice/{name}={option}": 1.0 for name, option in choices.items()}
    features["choice/capacity"] = float(CAPACITIES.index(choices["capacity"]))
    features["choice/regularisation"] = float(REGULARISATIONS.index(choices["regularisation"]))
    return features
