"""Plain, untuned solutions of the built-in tasks, written with scikit-learn.

They see the public files only, as any script does. Each task has those that make sense for it:
`dummy`, `linear`, `neighbours`, `forest` and `boosted`; for language models of characters `counts`
in the place of the last three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks import reference_language_models as language_models
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table_task import TableTask

Array = NDArray[Any]

ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "dummy": (DummyClassifier(), DummyRegressor()),
    "linear": (LogisticRegression(max_iter=2000), Ridge()),
    "neighbours": (KNeighborsClassifier(15), KNeighborsRegressor(15)),
    "forest": (RandomForestClassifier(random_state=0), RandomForestRegressor(random_state=0)),
    "boosted": (
        HistGradientBoostingClassifier(random_state=0),
        HistGradientBoostingRegressor(random_state=0),
    ),
}
"""Estimators for labels and for numbers, by the name of the solution."""

_ROUNDS = 30
"""Rounds of boosting where there is a model for each of several targets."""
_DISTINCT = 0.2
"""Share of different values above which the words of a column are text and not categories."""
_TEXT_DIMENSIONS = 30
"""Dimensions of a text for the models that cannot use thousands of sparse ones."""


def names(task: TableTask) -> tuple[str, ...]:
    """Names of the solutions that a task has."""
    return language_models.NAMES if "language_model" in task.tags else tuple(ESTIMATORS)


def solve(task: TableTask, name: str) -> bytes:
    """The submission of a solution, from the public files only."""
    dtypes = {task.target: str} if task.classes else None
    train = pd.read_csv(task.public / "train.csv", dtype=dtypes)
    test = pd.read_csv(task.public / "test.csv")
    if "language_model" in task.tags:
        predicted = language_models.predict(name, train, test, task.classes)
    else:
        predicted = _predict(task, name, train, test)
    columns = list(task.submission_columns[1:])
    frame = pd.DataFrame(np.asarray(predicted).reshape(len(test), -1), columns=columns)
    frame.insert(0, task.id_column, test[task.id_column])
    return frame.to_csv(index=False).encode()


def _predict(task: TableTask, name: str, train: pd.DataFrame, test: pd.DataFrame) -> Array:
    features = train.drop(columns=[task.id_column, *task.targets])
    model = make_pipeline(_columns(task, name, features), _estimator(task, name))
    model.fit(features, _answers(task, train))
    unseen = test[features.columns]
    match METRICS[task.metric].prediction:
        case "probabilities":
            order = [list(model.classes_).index(label) for label in task.classes]
            return np.asarray(model.predict_proba(unseen)[:, order])
        case "score" if task.kind == "multilabel":
            return np.stack([p[:, -1] for p in model.predict_proba(unseen)], axis=1)
        case "score" if task.kind == "binary":
            positive = list(model.classes_).index(task.classes[-1])
            return np.asarray(model.predict_proba(unseen)[:, positive])
    predicted = np.asarray(model.predict(unseen))
    return predicted if METRICS[task.metric].negative_allowed else np.clip(predicted, 0, None)


def _estimator(task: TableTask, name: str) -> Any:
    classifier, regressor = map(clone, ESTIMATORS[name])
    if task.classes:
        return classifier
    several = task.kind != "survival" and len(task.targets) > 1
    if several and name == "boosted":
        classifier.set_params(max_iter=_ROUNDS)
        regressor = MultiOutputRegressor(regressor.set_params(max_iter=_ROUNDS))
    if task.kind == "multilabel":
        return MultiOutputClassifier(classifier) if name in ("linear", "boosted") else classifier
    if task.metric == "rmsle":
        return TransformedTargetRegressor(regressor, func=np.log1p, inverse_func=np.expm1)
    return regressor


def _answers(task: TableTask, train: pd.DataFrame) -> Array:
    """`[N]` or `[N, T]` what the estimators learn."""
    if task.kind == "survival":
        time, event = (train[target].to_numpy(dtype=float) for target in task.targets)
        return excess_events(time, event)
    answers = train[list(task.targets)].to_numpy()
    return answers[:, 0] if len(task.targets) == 1 else answers


def excess_events(time: Array, event: Array) -> Array:
    """Events of each row in excess of what its time under observation leads to expect.

    These are the martingale residuals of a model without features (Nelson-Aalen): an ordinary
    regression of them uses the rows that are cut off, and ranks risks as one step towards
    Cox's model does.

    Args:
        time: `[N]` times of the event, or of the end of observation.
        event: `[N]` 1 where it was the event.

    Returns:
        `[N]` numbers below 1 whose sum is 0.
    """
    order = np.unique(time)
    at_risk = np.array([(time >= moment).sum() for moment in order])
    events = np.array([event[time == moment].sum() for moment in order])
    hazard = np.cumsum(events / at_risk)
    return np.asarray(event - hazard[np.searchsorted(order, time)])


def _columns(task: TableTask, name: str, features: pd.DataFrame) -> ColumnTransformer:
    """Imputation and scaling of numbers, one-hot encoding of categories, TF-IDF of texts."""
    numbers = list(features.select_dtypes("number"))
    others = [column for column in features if column not in numbers]
    texts = [column for column in others if "text" in task.tags and _is_text(features[column])]
    words = [column for column in others if column not in texts]
    steps: list[tuple[str, Any, Any]] = [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        ("words", _one_hot(), words),
        *((text, _vectoriser(name), [text]) for text in texts),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def _is_text(column: pd.Series[Any]) -> bool:
    return column.nunique() > _DISTINCT * len(column)


def _one_hot() -> Pipeline:
    # Columns with a value of its own in each row, such as dates, end up as one constant.
    return make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=20, sparse_output=False),
    )


def _vectoriser(name: str) -> Any:
    """Characters in runs of one to four, within words."""
    if name == "dummy":
        return "drop"
    counts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(1, 4), min_df=2, max_features=20_000, sublinear_tf=True
    )
    steps: list[BaseEstimator] = [_Cells(), counts]
    if name != "linear":
        steps.append(TruncatedSVD(_TEXT_DIMENSIONS, random_state=0))
    return make_pipeline(*steps)


class _Cells(BaseEstimator):
    """The texts of one column, the empty one where there is none."""

    def fit(self, cells: pd.DataFrame, y: Any = None) -> _Cells:
        return self

    def transform(self, cells: pd.DataFrame) -> list[str]:
        return ["" if cell != cell else str(cell) for cell in cells.iloc[:, 0]]

    def __sklearn_is_fitted__(self) -> bool:
        return True
