"""The metrics that tasks are judged by.

Each says which way is better, where its optimum lies and what a submission has to give:
labels, a score of the positive class, one probability a class, or plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as skm

Prediction = Literal["labels", "score", "probabilities", "values"]
Array = NDArray[Any]


@dataclass(frozen=True)
class Metric:
    """A metric: `metric.compute(answers, predictions, classes)` gives a Python float."""

    name: str
    title: str
    """Name as a practitioner would write it."""
    higher_is_better: bool
    optimum: float
    """Value of a perfect submission."""
    prediction: Prediction
    """What a submission gives for each row."""
    function: Callable[[Array, Array, list[str]], Any]
    negative_allowed: bool = True
    """Whether predicted values may be below 0."""

    @property
    def needs_probabilities(self) -> bool:
        """Whether hard labels are not enough to do well."""
        return self.prediction in ("score", "probabilities")

    def compute(self, answers: Array, predictions: Array, classes: tuple[str, ...] = ()) -> float:
        """Value of the metric.

        Args:
            answers: `[N]` true labels (str) or values (float64); `[N, T]` for several targets.
            predictions: `[N]` labels, scores or values, `[N, T]` for several targets; or
                `[N, K]` probabilities in the order of `classes`, rows summing to 1.
            classes: `[K]` labels of a classification task; the last is the positive class.

        Returns:
            The value, in the metric's own unit and direction.
        """
        return float(self.function(answers, predictions, list(classes)))


def _log_loss(answers: Array, predictions: Array, classes: list[str]) -> Any:
    # scikit-learn reads columns in sorted order of the labels, whatever order it is given.
    order = np.argsort(classes)
    return skm.log_loss(answers, predictions[:, order], labels=sorted(classes))


def _accuracy(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.accuracy_score(answers, predictions)


def _roc_auc(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.roc_auc_score(answers == classes[-1], predictions)


def _macro_f1(answers: Array, predictions: Array, classes: list[str]) -> Any:
    # Over the classes that occur: one that the hidden part lacks would cap the score below 1.
    # A class that is never predicted counts as F1 = 0.
    labels = np.unique(answers)
    return skm.f1_score(answers, predictions, labels=labels, average="macro", zero_division=0)


def _qwk(answers: Array, predictions: Array, classes: list[str]) -> Any:
    ranks = {label: rank for rank, label in enumerate(classes)}
    true, predicted = ([ranks[label] for label in labels] for labels in (answers, predictions))
    observed = np.unique(true + predicted)
    if len(observed) == 1:  # kappa is 0/0 where all agree on the one class there is
        return 1.0
    return skm.cohen_kappa_score(true, predicted, labels=range(len(classes)), weights="quadratic")


def _average_precision(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.average_precision_score(answers == classes[-1], predictions)


def _bits(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return _log_loss(answers, predictions, classes) / np.log(2)


def _mean_roc_auc(answers: Array, predictions: Array, classes: list[str]) -> Any:
    # Over the labels that some rows have and some have not: of the others there is no curve.
    known = np.flatnonzero(answers.min(axis=0) < answers.max(axis=0))
    return np.mean([skm.roc_auc_score(answers[:, k] > 0, predictions[:, k]) for k in known])


def _rmse(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.root_mean_squared_error(answers.ravel(), predictions.ravel())


def _rmsle(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.root_mean_squared_log_error(answers.ravel(), predictions.ravel())


def _mae(answers: Array, predictions: Array, classes: list[str]) -> Any:
    return skm.mean_absolute_error(answers.ravel(), predictions.ravel())


def _concordance(answers: Array, predictions: Array, classes: list[str]) -> Any:
    """Harrell's C: of the pairs whose order is known, the share that the risks put right.

    A pair is known if the one with the shorter time had the event. A tie of risks counts half.
    """
    time, event = answers[:, 0], answers[:, 1] > 0
    known = event[:, None] & (time[:, None] < time[None, :])
    right = predictions[:, None] > predictions[None, :]
    tied = predictions[:, None] == predictions[None, :]
    return float((known & right).sum() + 0.5 * (known & tied).sum()) / float(known.sum())


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("log_loss", "log loss", False, 0.0, "probabilities", _log_loss),
            Metric("accuracy", "accuracy", True, 1.0, "labels", _accuracy),
            Metric("roc_auc", "area under the ROC curve", True, 1.0, "score", _roc_auc),
            Metric("macro_f1", "macro-averaged F1 score", True, 1.0, "labels", _macro_f1),
            Metric("qwk", "quadratic weighted kappa", True, 1.0, "labels", _qwk),
            Metric(
                "average_precision", "average precision", True, 1.0, "score", _average_precision
            ),
            Metric(
                "mean_roc_auc",
                "mean area under the ROC curve of the labels",
                True,
                1.0,
                "score",
                _mean_roc_auc,
            ),
            Metric("concordance", "concordance index", True, 1.0, "score", _concordance),
            Metric(
                "bits", "cross-entropy, in bits per prediction", False, 0.0, "probabilities", _bits
            ),
            Metric("rmse", "root mean squared error", False, 0.0, "values", _rmse),
            Metric(
                "rmsle",
                "root mean squared logarithmic error",
                False,
                0.0,
                "values",
                _rmsle,
                negative_allowed=False,
            ),
            Metric("mae", "mean absolute error", False, 0.0, "values", _mae),
        )
    }
)
"""Every metric, by name."""
