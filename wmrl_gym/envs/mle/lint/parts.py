"""The public tables of a task and its hidden answers, side by side."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.grading.guest.table import USAGE
from wmrl_gym.envs.mle.lint.answers import answer_files
from wmrl_gym.envs.mle.task import Task

Column = NDArray[Any]
"""`[N]` float64, NaN for empty cells; or `[N]` str."""
_EMPTY = ("", "NA", "NaN", "nan", "null", "None")
_MAX_LABELS = 10
"""Distinct numbers up to which a target is taken for a label, where the task does not say."""


@dataclass(frozen=True)
class Parts:
    """Training rows, test rows and the answers of the test rows, every cell as text."""

    train: pd.DataFrame
    test: pd.DataFrame
    answers: pd.DataFrame
    """In the order of `test`."""
    id_column: str
    targets: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    """Labels of the target; empty if it has numbers; `None` if the task does not say."""

    @cached_property
    def features(self) -> dict[str, tuple[Column, Column]]:
        """The columns that train and test share, of both, by name."""
        others = {self.id_column, *self.targets}
        shared = [c for c in self.test.columns if c in self.train.columns and c not in others]
        return {c: together(self.train[c], self.test[c]) for c in shared}

    def target(self, name: str) -> tuple[Column, Column]:
        """Training targets and answers: both str for labels, both float64 for numbers."""
        train, hidden = self.train[name], self.answers[name]
        found = together(train, hidden)
        if self.classes == () or (self.classes is None and not _is_label(found)):
            return found
        return np.array(train.tolist()), np.array(hidden.tolist())


def together(train: pd.Series[str], test: pd.Series[str]) -> tuple[Column, Column]:
    """Two halves of a column as numbers if all cells are numbers or empty, else as text."""
    numbers = _numbers(train), _numbers(test)
    readable = [
        bool((np.isfinite(n) | half.isin(_EMPTY)).all())
        for n, half in zip(numbers, (train, test), strict=True)
    ]
    if all(readable) and any(np.isfinite(n).any() for n in numbers):
        return numbers
    return np.array(train.tolist(), dtype=str), np.array(test.tolist(), dtype=str)


def _numbers(cells: pd.Series[str]) -> NDArray[np.float64]:
    return np.asarray(pd.to_numeric(cells, errors="coerce"), dtype=float)


def _is_label(target: tuple[Column, Column]) -> bool:
    return target[0].dtype.kind == "U" or len(np.unique(np.concatenate(target))) <= _MAX_LABELS


def read_text(path: Path) -> pd.DataFrame:
    """A table, every cell as it is written."""
    separator = "\t" if path.suffix == ".tsv" else ","
    return _parse(path.read_bytes(), separator)


def _parse(content: bytes, separator: str = ",") -> pd.DataFrame:
    stream = io.BytesIO(content)
    return pd.read_csv(stream, dtype=str, keep_default_na=False, sep=separator, index_col=False)


def read_parts(task: Task) -> Parts | None:
    """The tables of `task`.

    Args:
        task: A task with `train.csv` and `test.csv`, or not.

    Returns:
        The tables; `None` if the task does not have them, or they do not go together.
    """
    train, test = (_read_if_there(task.public / name) for name in ("train.csv", "test.csv"))
    if train is None or test is None:
        return None
    for path in answer_files(task.grader).values():
        answers = _read_if_there(path) if path.suffix == ".csv" else None
        if answers is not None:
            parts = _match(task, train, test, answers)
            if parts is not None:
                return parts
    return None


def _read_if_there(path: Path) -> pd.DataFrame | None:
    try:
        return read_text(path)
    except (OSError, ValueError):
        return None


def _match(
    task: Task, train: pd.DataFrame, test: pd.DataFrame, answers: pd.DataFrame
) -> Parts | None:
    rules = task.grader.rules if task.grader.kind == "table" else {}
    id_column = rules.get("id_column") or _guess_id(test, answers)
    if id_column is None or id_column not in answers or answers[id_column].duplicated().any():
        return None
    targets = tuple(rules.get("targets") or _guess_targets(train, test, answers, id_column))
    placed = answers.set_index(id_column, drop=False)
    if not targets or not set(test[id_column]) <= set(placed.index):
        return None
    classes = tuple(rules["classes"]) if "classes" in rules else None
    ordered = placed.loc[test[id_column]].reset_index(drop=True)
    return Parts(train, test, ordered, id_column, targets, classes)


def _guess_id(test: pd.DataFrame, answers: pd.DataFrame) -> str | None:
    """The first column of the answers that has the values of the test rows, each once."""
    for column in answers.columns:
        if column in test and test[column].is_unique and set(test[column]) <= set(answers[column]):
            return str(column)
    return None


def _guess_targets(
    train: pd.DataFrame, test: pd.DataFrame, answers: pd.DataFrame, id_column: str
) -> Sequence[str]:
    candidates = [c for c in answers.columns if c in train and c not in {id_column, USAGE}]
    hidden = [column for column in candidates if column not in test]
    if hidden or len(candidates) >= len(test.columns) - 1:
        return hidden
    return candidates  # too few to be a copy of the test rows: targets that these show
