"""Features of imported tasks, where their public files are tables of the usual kind."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from wmrl_gym.envs.mle.features import meta_features
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.importers.known_metrics import known_metric
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.envs.mle.table import Kind, Table
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

MOST_ROWS = 10_000
"""Rows of the training data that are read."""
MOST_CLASSES = 20
"""A column of whole numbers with at most this many values holds classes."""
_ID = "wmrl id"


@dataclass(frozen=True)
class _Supervised:
    """The training data of a task with one target."""

    train: pd.DataFrame
    target: str


def traits_of(task: Task) -> Mapping[str, float]:
    """The features of a task.

    Args:
        task: The task.

    Returns:
        Those that built-in tasks have; zeros where training data and one target cannot be told.
    """
    data = _read(task.public)
    if data is None:
        return _zeros()
    found = _features(task, data)
    return found if all(np.isfinite(list(found.values()))) else _zeros()


def _read(public: Path) -> _Supervised | None:
    """The training data, and the one column that the test data lack."""
    try:
        train = pd.read_csv(public / "train.csv", nrows=MOST_ROWS)
        test = pd.read_csv(public / "test.csv", nrows=1)
    except (OSError, ValueError):
        return None
    targets = [name for name in train.columns if name not in test.columns]
    features = [name for name in train.columns if name in test.columns]
    if len(targets) != 1 or not features:
        return None
    known = train[train[targets[0]].notna()]
    return _Supervised(known, targets[0]) if len(known) > 1 else None


def _features(task: Task, data: _Supervised) -> Mapping[str, float]:
    train = data.train
    identifier = train.columns[0] if train[train.columns[0]].is_unique else None
    if identifier is None or identifier == data.target or len(train.columns) < 3:
        identifier = _ID
        train = train.assign(**{_ID: range(len(train))})
    table = _table(task, train[data.target], str(identifier))
    with tempfile.TemporaryDirectory(prefix="wmrl-gym-traits-") as directory:
        train.to_csv(Path(directory, "train.csv"), index=False)
        found = dict(meta_features(table, Path(directory)))
    return found | {"lower_is_better": float(not task.higher_is_better)}


def _table(task: Task, target: pd.Series, identifier: str) -> Table:
    classes = _classes(target)
    kind: Kind = "regression" if not classes else "binary" if len(classes) == 2 else "multiclass"
    for metric in _metrics(task, kind):
        with contextlib.suppress(TaskError):  # it does not go with the kind
            return _described(kind, metric, str(target.name), classes, identifier)
    raise AssertionError("the last metric goes with every kind that it is given for")


def _described(
    kind: Kind, metric: str, target: str, classes: tuple[str, ...], identifier: str
) -> Table:
    """A description of which only what features are made of matters."""
    return Table(
        name="",
        title="",
        about="",
        kind=kind,
        metric=metric,
        targets=(target,),
        target_about="",
        licence="",
        origin="",
        source=Source("", "", ()),
        classes=classes,
        id_column=identifier,
    )


def _classes(target: pd.Series) -> tuple[str, ...]:
    """The labels, if the target holds labels."""
    values = target.unique()
    is_whole = is_numeric_dtype(target) and (target.astype(float) % 1 == 0).all()
    if len(values) < 2 or (
        is_numeric_dtype(target) and not (is_whole and len(values) <= MOST_CLASSES)
    ):
        return ()
    return tuple(sorted(map(str, values)))


def _metrics(task: Task, kind: Kind) -> list[str]:
    """Metrics of ours to stand for the task's: its own if we have it, else one like it."""
    known = known_metric(task.metric)
    own = [task.metric, "" if known is None else known.name]
    higher, lower = ("rmse", "rmse") if kind == "regression" else ("accuracy", "log_loss")
    return [*filter(METRICS.__contains__, own), higher if task.higher_is_better else lower]


def _zeros() -> Mapping[str, float]:
    """All features 0, under the names that a small table gives."""
    table = _described("regression", "rmse", "y", (), "id")
    with tempfile.TemporaryDirectory(prefix="wmrl-gym-traits-") as directory:
        Path(directory, "train.csv").write_text("id,x,y\n1,0,0\n2,1,1\n")
        return dict.fromkeys(meta_features(table, Path(directory)), 0.0)
