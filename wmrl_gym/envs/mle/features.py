"""Numbers that describe a task, for models that predict how solutions will do on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from scipy import stats

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table import Table

_BOUND = 5.0


def meta_features(task: Table, public: Path) -> Mapping[str, float]:
    """Describe `task` by what its training file shows.

    Args:
        task: The task.
        public: Directory with its training file.

    Returns:
        The same keys for every task; finite numbers in [-5, 5], most in [0, 1].
    """
    train = pd.read_csv(public / "train.csv")
    numbers = {
        **_of_columns(train.drop(columns=[task.id_column, *task.targets])),
        **_of_target(task, train[task.targets[0]]),
        **_of_rules(task),
    }
    return {name: float(np.clip(number, -_BOUND, _BOUND)) for name, number in numbers.items()}


def _of_columns(features: pd.DataFrame) -> dict[str, float]:
    categorical = [name for name in features if not is_numeric_dtype(features[name])]
    cardinality = max((features[name].nunique() for name in categorical), default=1)
    missing = features.isna()
    return {
        "log10_rows": np.log10(len(features)),
        "log10_columns": np.log10(features.shape[1]),
        "log10_rows_per_column": np.log10(len(features) / features.shape[1]),
        "share_categorical": len(categorical) / features.shape[1],
        "log10_max_cardinality": np.log10(max(cardinality, 1)),
        "share_missing": float(missing.to_numpy().mean()),
        "share_columns_with_missing": float(missing.any().mean()),
    }


def _of_target(task: Table, target: pd.Series) -> dict[str, float]:
    """Skewness of a numeric target; normalised entropy of a label, 1 for equal classes."""
    if not task.classes:
        varies = target.nunique() > 1  # otherwise the skewness is 0/0
        skew = float(stats.skew(target.to_numpy(dtype=float))) if varies else 0.0
        return {"log10_classes": 0.0, "class_balance": 1.0, "target_skew": skew}
    shares = target.value_counts(normalize=True).to_numpy()
    entropy = -float(np.sum(shares * np.log(shares)))
    classes = len(task.classes)
    return {
        "log10_classes": np.log10(classes),
        "class_balance": entropy / np.log(classes),
        "target_skew": 0.0,
    }


def _of_rules(task: Table) -> dict[str, float]:
    metric = METRICS[task.metric]
    return {
        "is_binary": float(task.kind == "binary"),
        "is_multiclass": float(task.kind == "multiclass"),
        "is_regression": float(task.kind not in ("binary", "multiclass")),
        "needs_probabilities": float(metric.needs_probabilities),
        "lower_is_better": float(not metric.higher_is_better),
        "is_ordinal": float("ordinal" in task.tags),
        "is_image": float("image" in task.tags),
        "is_text": float("text" in task.tags),
        "log10_targets": float(np.log10(len(task.targets))),
        "is_time_split": float(task.time_column is not None),
    }
