"""Measures what plain reference solutions reach on the built-in tasks.

    python benchmarks/reference_scores.py                    # print a table
    python benchmarks/reference_scores.py wine-cultivar      # only these tasks
    python benchmarks/reference_scores.py --write            # put the numbers into the catalogue

Each reference is an untuned scikit-learn pipeline that is fitted on the public part and graded
on the hidden part, the way that any submission is.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import wmrl_gym.envs.mle.catalog as catalog
from wmrl_gym.envs.mle.grading import evaluate
from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.envs.mle.task import Task

DIGITS = 5
REFERENCES: dict[str, tuple[Any, Any]] = {
    "dummy": (DummyClassifier(), DummyRegressor()),
    "linear": (LogisticRegression(max_iter=2000), Ridge()),
    "neighbours": (KNeighborsClassifier(15), KNeighborsRegressor(15)),
    "forest": (RandomForestClassifier(random_state=0), RandomForestRegressor(random_state=0)),
    "boosted": (
        HistGradientBoostingClassifier(random_state=0),
        HistGradientBoostingRegressor(random_state=0),
    ),
}
"""Estimators for labels and for numbers, by name."""


def pipeline(estimator: Any) -> Pipeline:
    """Imputation, scaling of numbers, one-hot encoding of the rest, then `estimator`."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    # Columns with a value of its own in each row, such as dates, end up as one constant.
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=20, sparse_output=False),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, estimator)


def solve(task: Task, reference: str) -> bytes:
    """The submission of a reference, from the public files only."""
    train = pd.read_csv(task.public / "train.csv", dtype={task.target: _dtype(task)})
    test = pd.read_csv(task.public / "test.csv")
    model = pipeline(REFERENCES[reference][0 if task.classes else 1])
    model.fit(train.drop(columns=[task.id_column, task.target]), train[task.target])
    predicted = _predict(task, model, test.drop(columns=task.id_column))
    columns = list(task.submission_columns[1:])
    frame = pd.DataFrame(np.asarray(predicted).reshape(len(test), -1), columns=columns)
    frame.insert(0, task.id_column, test[task.id_column])
    return frame.to_csv(index=False).encode()


def _dtype(task: Task) -> type:
    return str if task.classes else float


def _predict(task: Task, model: Pipeline, features: pd.DataFrame) -> Any:
    match METRICS[task.metric].prediction:
        case "labels":
            return model.predict(features)
        case "values":
            values = model.predict(features)
            return np.clip(values, 0, None) if task.metric == "rmsle" else values
        case "score":
            return model.predict_proba(features)[:, 1]
        case "probabilities":
            order = [list(model.classes_).index(label) for label in task.classes]
            return model.predict_proba(features)[:, order]


def measure(task: Task) -> dict[str, float]:
    """The metric of each reference, by name, rounded to 5 digits after the point."""
    return {name: round(evaluate(task, solve(task, name)), DIGITS) for name in REFERENCES}


def write(name: str, scores: dict[str, float]) -> None:
    """Put the scores into the description of a built-in task."""
    path = Path(catalog.__file__).parent / "tasks" / f"{name}.toml"
    kept = re.sub(r"\n\[references\]\n(?:[^\[\n].*\n)*", "", path.read_text(encoding="utf-8"))
    lines = [f"{reference} = {score}" for reference, score in scores.items()]
    path.write_text(
        "\n".join([kept.rstrip("\n"), "", "[references]", *lines, ""]), encoding="utf-8"
    )


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tasks", nargs="*", default=catalog.available_task_names())
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    print(f"{'task':16} {'metric':10}" + "".join(f"{name:>12}" for name in REFERENCES))
    for name in arguments.tasks:
        task = catalog.load_task(name)
        scores = measure(task)
        print(f"{name:16} {task.metric:10}" + "".join(f"{s:12.5f}" for s in scores.values()))
        if arguments.write:
            write(name, scores)


if __name__ == "__main__":
    main()
