"""Metrics that go by the same name everywhere: which way is better, and what is perfect."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownMetric:
    """What a name tells about a metric."""

    higher_is_better: bool
    optimum: float
    name: str = ""
    """The key of `METRICS` that computes it; empty if none does."""


_HIGHER = {
    "accuracy": "accuracy",
    "accuracy score": "accuracy",
    "categorization accuracy": "accuracy",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "auc roc": "roc_auc",
    "roc auc": "roc_auc",
    "area under the receiver operating characteristic curve": "roc_auc",
    "mean column wise auc roc": "mean_roc_auc",
    "mean roc auc": "mean_roc_auc",
    "average precision": "average_precision",
    "macro f1": "macro_f1",
    "f1 macro": "macro_f1",
    "qwk": "qwk",
    "quadratic weighted kappa": "qwk",
    "concordance": "concordance",
    "f1": "",
    "f1 score": "",
    "micro f1": "",
    "mean f1": "",
    "precision": "",
    "recall": "",
    "r2": "",
    "r2 score": "",
    "balanced accuracy": "",
    "mcc": "",
    "matthews correlation coefficient": "",
    "map": "",
    "spearman": "",
    "pearson": "",
    "dice": "",
    "iou": "",
}
_LOWER = {
    "log loss": "log_loss",
    "logloss": "log_loss",
    "multi class log loss": "log_loss",
    "cross entropy": "",
    "rmse": "rmse",
    "root mean squared error": "rmse",
    "rmsle": "rmsle",
    "root mean squared logarithmic error": "rmsle",
    "mae": "mae",
    "mean absolute error": "mae",
    "mse": "",
    "mean squared error": "",
    "mape": "",
    "smape": "",
    "error rate": "",
    "brier score": "",
    "word error rate": "",
}
_KNOWN = {name: KnownMetric(True, 1.0, key) for name, key in _HIGHER.items()} | {
    name: KnownMetric(False, 0.0, key) for name, key in _LOWER.items()
}


def known_metric(name: str) -> KnownMetric | None:
    """What is known of a metric by its name, however it is spelt; `None` if nothing is."""
    return _KNOWN.get(" ".join(re.findall("[a-z0-9]+", name.lower())))
