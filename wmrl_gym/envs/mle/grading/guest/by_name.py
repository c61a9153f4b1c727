"""Grades a table of another benchmark by a metric of ours, where its own code is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.parts import Part


class NamedMetric:
    """A metric of `METRICS` on the columns that submission and answers share, without the ids.

    Args:
        rules: `metric`, its name.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self._metric = METRICS[rules["metric"]]

    def __call__(self, part: Part) -> float:
        """The metric on `part`."""
        columns = list(part.submission.columns[1:])
        lacking = [name for name in columns if name not in part.answers.columns]
        if lacking:
            raise ValueError(f"the answers have no column {lacking}")
        predicted, true = part.submission[columns], part.answers[columns]
        if self._metric.prediction == "labels":
            return self._metric.compute(_text(true), _text(predicted), _classes(true))
        if self._metric.prediction == "probabilities":
            labels = np.array(columns)[true.to_numpy(dtype=float).argmax(axis=1)]
            return self._metric.compute(labels, predicted.to_numpy(dtype=float), tuple(columns))
        answers, values = true.to_numpy(dtype=float), predicted.to_numpy(dtype=float)
        if self._metric.prediction == "score" and len(columns) == 1:
            # The positive class is the last one: the greater number.
            labels = np.where(answers[:, 0] == answers.max(), "1", "0")
            return self._metric.compute(labels, values[:, 0], ("0", "1"))
        return self._metric.compute(answers, values)


def _text(table: pd.DataFrame) -> NDArray[Any]:
    return table.iloc[:, 0].astype(str).to_numpy(dtype=str)


def _classes(true: pd.DataFrame) -> tuple[str, ...]:
    return tuple(sorted(set(_text(true))))
