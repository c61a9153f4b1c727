"""The three tables of a plain folder, read as one."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from wmrl_gym.envs.mle.grading.guest.table import PRIVATE, PUBLIC, USAGE
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.envs.mle.splitting import HIDDEN_SHARE, PUBLIC_SHARE
from wmrl_gym.errors import TaskError

TRAIN, TEST, ANSWERS = "train.csv", "test.csv", "answers.csv"
SPLIT = "part of the data"
"""Column that `FolderSource` adds: `train`, `Public` or `Private`."""
_SHOWN = 5


@dataclass(frozen=True)
class FolderSource(Source):
    """A folder with `train.csv`, `test.csv` and `answers.csv`.

    Cells stay as they are written, but for targets, whose form has to be known. Where answers
    have a column `Usage`, it says which are public and which are private; else a quarter of
    them, drawn by a hash of the answers, is public.
    """

    package: str = ""
    module: str = ""
    files: tuple[str, ...] = (TRAIN, TEST, ANSWERS)
    # Where the folder lies and what it is for say nothing about what scores on it mean, and
    # the version of a task hashes what its source shows.
    directory: Path = field(default=Path(), repr=False)
    id_column: str = "id"
    targets: tuple[str, ...] = ()
    classified: bool = False
    """Whether the target is a label."""
    negative_allowed: bool = True
    """Whether numeric targets may be below 0."""

    @property
    def installed(self) -> bool:
        """Whether the files are there."""
        return all(path.is_file() for path in self.paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(self.directory / file for file in self.files)

    def read(self) -> pd.DataFrame:
        """All rows: features, targets, ids, and `SPLIT`.

        Raises:
            TaskError: If the tables do not go together, or cells lack or are of a wrong form.
        """
        train, test, answers = (read_table(path) for path in self.paths)
        _check_ids(self.id_column, test, answers)
        answers = answers.set_index(self.id_column).loc[test[self.id_column]]
        for target in self.targets:
            train[target] = self._target(TRAIN, train[target])
            test[target] = self._target(ANSWERS, answers[target]).to_numpy()
        if self.id_column not in train:
            train[self.id_column] = [f"train-{row}" for row in range(1, len(train) + 1)]
        test[SPLIT] = _usage(answers)
        return pd.concat([train.assign(**{SPLIT: "train"}), test], ignore_index=True)

    def _target(self, file: str, column: pd.Series[str]) -> pd.Series[str] | pd.Series[float]:
        if empty := int((column.str.strip() == "").sum()):
            raise TaskError(f"{file} has {empty} rows without a value of target {column.name!r}")
        return whole(column) if self.classified else self._numbers(file, column)

    def _numbers(self, file: str, column: pd.Series[str]) -> pd.Series[float]:
        numbers = column.map(_number)
        wrong = ~np.isfinite(numbers.to_numpy(dtype=float))
        if not self.negative_allowed:
            wrong |= numbers.to_numpy(dtype=float) < 0
        if wrong.any():
            allowed = "a finite number" if self.negative_allowed else "a number from 0 on"
            raise TaskError(
                f"target {column.name!r} in {file} has {wrong.sum()} values that are not "
                f"{allowed}: {column[wrong].unique()[:_SHOWN].tolist()}"
            )
        return numbers


def header(path: Path) -> list[str]:
    """Names of the columns of a table.

    Raises:
        TaskError: If it cannot be read, has no columns, or two of one name.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            names = next(csv.reader(stream), [])
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    if not names or len(set(names)) < len(names):
        raise TaskError(f"{path} has to have a header with names that differ; it is {names}")
    return names


def read_table(path: Path) -> pd.DataFrame:
    """A table, every cell as it is written.

    Raises:
        TaskError: If it cannot be read.
    """
    header(path)
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error


def labels(directory: Path, target: str) -> Sequence[str]:
    """The distinct labels of a target in the training rows and the answers."""
    found = [
        pd.read_csv(
            directory / file,
            usecols=[target],
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
        )
        for file in (TRAIN, ANSWERS)
    ]
    return sorted(set(whole(pd.concat(found)[target])) - {""})


def whole(column: pd.Series[str]) -> pd.Series[str]:
    """Labels without blanks around them, as submissions are read, and with `3.0` as `3`.

    Whole numbers get a fraction wherever a column once had a gap.
    """
    return column.map(lambda label: re.sub(r"^(-?[0-9]+)\.0+$", r"\1", label.strip()))


def _number(text: str) -> float:
    """As Python reads it: how pandas rounds the last digit depends on its version."""
    for kind in (int, float):
        try:
            return kind(text) if "_" not in text else math.nan
        except ValueError:
            continue
    return math.nan


def _check_ids(column: str, test: pd.DataFrame, answers: pd.DataFrame) -> None:
    for file, table in ((TEST, test), (ANSWERS, answers)):
        ids = table[column]
        if repeated := ids[ids.duplicated()].unique()[:_SHOWN].tolist():
            raise TaskError(f"{file} has ids in column {column!r} more than once: {repeated}")
        if (ids == "").any():
            raise TaskError(f"{file} has rows without an id in column {column!r}")
    known, wanted = set(answers[column]), set(test[column])
    for file, other, lacking in ((ANSWERS, TEST, wanted - known), (TEST, ANSWERS, known - wanted)):
        if lacking:
            shown = sorted(lacking)[:_SHOWN]
            raise TaskError(f"{file} lacks {len(lacking)} ids that {other} has: {shown}")
    if test.empty:
        raise TaskError(f"{TEST} has no rows")


def _usage(answers: pd.DataFrame) -> list[str]:
    """Part of each answer; its index are the ids."""
    if USAGE not in answers:
        return _drawn(answers)
    found = answers[USAGE].tolist()
    if strange := sorted(set(found) - {PUBLIC, PRIVATE}):
        raise TaskError(f"{ANSWERS}: {USAGE} has to be {PUBLIC} or {PRIVATE}, not {strange}")
    if PRIVATE not in found:
        raise TaskError(f"{ANSWERS}: {USAGE} is {PRIVATE} in no row; these decide the score")
    return found


def _drawn(answers: pd.DataFrame) -> list[str]:
    # The salt is what nobody who has to guess the answers knows.
    salt = hashlib.sha256(answers.sort_index().to_csv().encode()).hexdigest()
    digests = [hashlib.sha256(f"{salt}|{row}".encode()).hexdigest() for row in answers.index]
    count = round(len(answers) * PUBLIC_SHARE / HIDDEN_SHARE)
    public = set(np.argsort(np.array(digests))[:count].tolist())
    return [PUBLIC if row in public else PRIVATE for row in range(len(answers))]
