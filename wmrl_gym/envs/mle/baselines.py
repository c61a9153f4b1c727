"""Plain solutions, to say what a score on a task means.

Untuned pipelines of scikit-learn, fitted on the public part of a task: numbers are imputed and
scaled, the rest is one-hot encoded.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wmrl_gym.envs.mle.grading import evaluate
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

_ESTIMATORS: Mapping[str, tuple[Any, Any]] = MappingProxyType(
    {
        "dummy": (DummyClassifier(), DummyRegressor()),
        "linear": (LogisticRegression(max_iter=2000), Ridge()),
        "boosted": (
            HistGradientBoostingClassifier(random_state=0),
            HistGradientBoostingRegressor(random_state=0),
        ),
    }
)
"""Estimators for labels and for numbers, by name."""
BASELINES: Sequence[str] = tuple(_ESTIMATORS)
"""Names of the solutions, from the plainest on."""
_DIGITS = 5


def measure(task: TableTask) -> dict[str, float]:
    """What each of `BASELINES` reaches on the private answers.

    Args:
        task: The task.

    Returns:
        The metric by name, rounded to 5 digits after the point.

    Raises:
        TaskError: If a solution cannot be fitted.
        GraderError: If grading failed.
    """
    return {
        name: round(evaluate(task.grader, _solved(task, name)).private, _DIGITS)
        for name in BASELINES
    }


def _solved(task: TableTask, baseline: str) -> bytes:
    try:
        return solve(task, baseline)
    except ValueError as error:
        raise TaskError(f"the {baseline} baseline cannot be fitted: {error}") from error


def solve(task: TableTask, baseline: str) -> bytes:
    """The submission of a baseline, from the public files alone.

    Args:
        task: The task.
        baseline: One of `BASELINES`.

    Returns:
        The content of a submission.
    """
    known = dict.fromkeys(task.targets, str) if task.classes else {}
    train = pd.read_csv(task.public / "train.csv", dtype=known)
    test = pd.read_csv(task.public / "test.csv")
    model = _pipeline(_estimator(task, baseline))
    targets = train[list(task.targets)].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(
            train.drop(columns=[task.id_column, *task.targets]),
            targets[:, 0] if task.kind == "survival" or len(task.targets) == 1 else targets,
        )
    predicted = _predict(task, model, test.drop(columns=task.id_column))
    columns = list(task.submission_columns[1:])
    frame = pd.DataFrame(np.asarray(predicted).reshape(len(test), -1), columns=columns)
    frame.insert(0, task.id_column, test[task.id_column])
    return frame.to_csv(index=False).encode()


def _estimator(task: TableTask, baseline: str) -> Any:
    classifier, regressor = _ESTIMATORS[baseline]
    if task.kind == "multilabel":
        return OneVsRestClassifier(classifier)
    if task.classes:
        return classifier
    several = task.kind == "regression" and len(task.targets) > 1
    return MultiOutputRegressor(regressor) if several else regressor


def _pipeline(estimator: Any) -> Pipeline:
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    # Columns with a value of its own in each row, such as dates, end up as one constant.
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=20, sparse_output=False),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, estimator)


def _predict(task: TableTask, model: Pipeline, features: pd.DataFrame) -> NDArray[Any]:
    metric = METRICS[task.metric]
    if task.kind == "survival":  # who is expected to live long is at little risk
        return -np.asarray(model.predict(features))
    if metric.prediction == "probabilities":
        order = [list(model.classes_).index(label) for label in task.classes]
        return np.asarray(model.predict_proba(features)[:, order])
    if metric.prediction == "score" and task.classes:
        positive = list(model.classes_).index(task.classes[-1])
        return np.asarray(model.predict_proba(features)[:, positive])
    if metric.prediction == "score":
        return np.asarray(model.predict_proba(features))
    predicted = np.asarray(model.predict(features))
    return predicted if metric.negative_allowed else predicted.clip(0)
