"""Answers among the public files."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from wmrl_gym.envs.mle.lint.answers import answer_files
from wmrl_gym.envs.mle.lint.columns import LEAST_ROWS
from wmrl_gym.envs.mle.lint.findings import Finding, Severity, few
from wmrl_gym.envs.mle.lint.parts import Parts, read_text, together
from wmrl_gym.envs.mle.task import Task

_TABLES = {".csv", ".tsv"}
_AGREE = 0.99
"""Share of equal values from which on a column is the answers."""
_COVERED = 0.5
"""Share of the test rows that a table has to hold to be compared with the answers."""
_MAX_BYTES = 256 * 2**20


def is_public(task: Task) -> Iterator[Finding]:
    """Public files with the very bytes of a file that the grader reads answers from."""
    answers = answer_files(task.grader)
    for path in _files(task.public):
        for name, hidden in answers.items():
            if path.stat().st_size and filecmp.cmp(path, hidden, shallow=False):
                message = f"public file {_shown(path, task)} is the grader's file {name!r}"
                yield Finding("public-answers", Severity.ERROR, message)


def is_told(task: Task, parts: Parts) -> Iterator[Finding]:
    """Public tables that tell the targets of the test rows."""
    if there := [target for target in parts.targets if target in parts.test]:
        message = f"test.csv has the target columns {few(there)}"
        yield Finding("target-in-test", Severity.ERROR, message)
    tables = (p for p in _files(task.public) if p.suffix in _TABLES and p.name != "test.csv")
    for path in tables:
        if path.stat().st_size > _MAX_BYTES:
            continue
        for column, target, rows in _answers_in(path, parts):
            message = (
                f"public file {_shown(path, task)} has the answers for {target!r} of {rows} test "
                f"rows in column {column!r}"
            )
            yield Finding("public-answers", Severity.ERROR, message)


def _answers_in(path: Path, parts: Parts) -> Iterator[tuple[str, str, int]]:
    """Columns of a table that agree with the answers, the target, and how many rows do."""
    try:
        table = read_text(path)
    except ValueError:
        return
    if parts.id_column not in table:
        return
    placed = table.drop_duplicates(parts.id_column).set_index(parts.id_column)
    ids = parts.test[parts.id_column]
    found = ids.isin(placed.index).to_numpy()
    if found.mean() < _COVERED:
        return
    rows = placed.loc[ids[found]]
    for target in parts.targets:
        answers = parts.answers[target][found].reset_index(drop=True)
        if len(answers) - answers.value_counts().max() < LEAST_ROWS:
            continue
        for column in rows.columns:
            if _agree(answers, rows[column].reset_index(drop=True)):
                yield str(column), target, int(found.sum())


def _agree(answers: pd.Series[str], column: pd.Series[str]) -> bool:
    a, b = together(answers, column)
    return bool(np.mean(a == b) >= _AGREE)


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _shown(path: Path, task: Task) -> str:
    return repr(str(path.relative_to(task.public)))
