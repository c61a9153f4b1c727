"""Plain solutions of the built-in tasks, written as the scripts that a practitioner hands in.

Numbers are imputed and scaled, the rest is one-hot encoded or, where it is text, counted by its
runs of characters; then one estimator of scikit-learn. They exist for every kind of table, also
for those with several targets, which the pipelines of `WMRL-MLE-Pipeline-v0` do not cover.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table_task import TableTask


@dataclass(frozen=True)
class Model:
    """An estimator of scikit-learn, as it stands in a script."""

    module: str
    source: str
    """The call that makes it, `Ridge(alpha=1.0)` say."""

    @property
    def name(self) -> str:
        """What is imported."""
        return self.source.partition("(")[0]


REFERENCES: Mapping[str, tuple[Model, Model]] = MappingProxyType(
    {
        "dummy": (
            Model("sklearn.dummy", "DummyClassifier()"),
            Model("sklearn.dummy", "DummyRegressor()"),
        ),
        "linear": (
            Model("sklearn.linear_model", "LogisticRegression(max_iter=2000)"),
            Model("sklearn.linear_model", "Ridge()"),
        ),
        "neighbours": (
            Model("sklearn.neighbors", "KNeighborsClassifier(15)"),
            Model("sklearn.neighbors", "KNeighborsRegressor(15)"),
        ),
        "forest": (
            Model("sklearn.ensemble", "RandomForestClassifier(random_state=0)"),
            Model("sklearn.ensemble", "RandomForestRegressor(random_state=0)"),
        ),
        "boosted": (
            Model("sklearn.ensemble", "HistGradientBoostingClassifier(random_state=0)"),
            Model("sklearn.ensemble", "HistGradientBoostingRegressor(random_state=0)"),
        ),
    }
)
"""The solutions whose scores are the references of the tasks: for labels and for numbers."""

LABELS = ("binary", "multiclass", "multilabel")
"""Kinds of tasks that need a classifier."""

_COLUMNS = """\
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
words = make_pipeline(
    SimpleImputer(strategy="most_frequent"),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=20, sparse_output=False),
)
columns = make_column_transformer(
    (numbers, make_column_selector(dtype_include="number")),
    (words, make_column_selector(dtype_exclude="number")),
)
"""
_COLUMN_IMPORTS = {
    "from sklearn.compose import make_column_selector, make_column_transformer",
    "from sklearn.impute import SimpleImputer",
    "from sklearn.preprocessing import OneHotEncoder, StandardScaler",
}
_CHARACTERS = """\
columns = TfidfVectorizer(
    analyzer="char_wb", ngram_range=(1, 4), min_df=2, max_features=20000, sublinear_tf=True
)
"""
_CHARACTER_IMPORTS = {"from sklearn.feature_extraction.text import TfidfVectorizer"}


def plain_script(task: TableTask, model: Model, *, characters: bool = False) -> str:
    """Write the script.

    Args:
        task: The task; only its public side is used.
        model: A classifier for tasks whose kind is in `LABELS`, else a regressor.
        characters: Look at nothing but the runs of characters in the text columns. Not every
            estimator takes such sparse features.

    Returns:
        A Python program that reads `../input` and writes the submission.
    """
    imports = {
        "import pandas as pd",
        "from sklearn.pipeline import make_pipeline",
        f"from {model.module} import {model.name}",
        *(_CHARACTER_IMPORTS if characters else _COLUMN_IMPORTS),
        *_imports_of_kind(task),
    }
    return "\n".join(
        [
            *sorted(imports, key=lambda line: (line.startswith("from"), line)),
            "",
            'train = pd.read_csv("../input/train.csv")',
            'test = pd.read_csv("../input/test.csv")',
            *_data(task, characters),
            "",
            _CHARACTERS if characters else _COLUMNS,
            f"model = make_pipeline(columns, {_estimator(task, model)})",
            "model.fit(X, y)",
            "",
            'submission = pd.read_csv("../input/sample_submission.csv")',
            _prediction(task),
            f'submission.to_csv("{task.submission}", index=False)',
            "",
        ]
    )


def text_columns(task: TableTask) -> list[str]:
    """The feature columns that are not numbers."""
    train = pd.read_csv(task.public / "train.csv", nrows=200)
    features = train.drop(columns=[task.id_column, *task.targets])
    return list(features.select_dtypes(exclude="number").columns)


def _data(task: TableTask, characters: bool) -> list[str]:
    # A survival is learned from its times alone: plain, and biased by those that are cut off.
    single = len(task.targets) == 1 or task.kind == "survival"
    answers = f"y = train[{json.dumps(task.targets[0] if single else list(task.targets))}]"
    if not characters:
        unused = json.dumps([task.id_column, *task.targets])
        return [f"X = train.drop(columns={unused})", answers, "X_test = test[X.columns]"]
    joined = '.fillna("").agg(" ".join, axis="columns")'
    return [
        f"text = {json.dumps(text_columns(task))}",
        f"X = train[text]{joined}",
        answers,
        f"X_test = test[text]{joined}",
    ]


def _several(task: TableTask) -> bool:
    return task.kind == "regression" and len(task.targets) > 1


def _imports_of_kind(task: TableTask) -> set[str]:
    if task.kind == "multilabel":
        return {"import numpy as np", "from sklearn.multioutput import MultiOutputClassifier"}
    return {"from sklearn.multioutput import MultiOutputRegressor"} if _several(task) else set()


def _estimator(task: TableTask, model: Model) -> str:
    if task.kind == "multilabel":
        return f"MultiOutputClassifier({model.source})"
    return f"MultiOutputRegressor({model.source})" if _several(task) else model.source


def _prediction(task: TableTask) -> str:
    """The line that fills in the submission."""
    if task.kind == "survival":  # who is expected to live long is at little risk
        return 'submission["risk"] = -model.predict(X_test)'
    if task.kind == "multilabel":
        columns = "np.column_stack([p[:, -1] for p in model.predict_proba(X_test)])"
        return f"submission[{json.dumps(list(task.targets))}] = {columns}"
    metric = METRICS[task.metric]
    if metric.prediction == "probabilities":
        labels = "[str(label) for label in model.classes_]"
        return f"submission[{labels}] = model.predict_proba(X_test)"
    target = json.dumps(list(task.targets) if _several(task) else task.target)
    if metric.prediction == "score":
        # scikit-learn's columns are in the order of the labels.
        positive = sorted(task.classes).index(task.classes[-1])
        return f"submission[{target}] = model.predict_proba(X_test)[:, {positive}]"
    clipped = "" if metric.negative_allowed else ".clip(0)"
    return f"submission[{target}] = model.predict(X_test){clipped}"
