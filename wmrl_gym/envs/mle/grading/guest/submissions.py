"""Reading a submission: strict about content, indifferent to order."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.rules import TableRules
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError

MAX_BYTES = 64 * 2**20
"""A submission larger than this is refused unread; the largest honest one has a tenth of it."""
_LARGEST = 1e100
"""Values beyond this overflow when they are squared and summed."""


def read_predictions(rules: TableRules, submission: bytes, ids: Sequence[str]) -> NDArray[Any]:
    """Read the predictions of a submission.

    Args:
        rules: What it has to look like.
        submission: The bytes of a CSV file, UTF-8, with `rules.columns`.
        ids: `[N]` ids of the hidden rows.

    Returns:
        Predictions in the order of `ids`: `[N]` labels (str); `[N]` values or scores (float64),
        `[N, T]` if there are several targets; or `[N, K]` probabilities (float64) in the order
        of the classes, each row divided by its sum.

    Raises:
        InvalidSubmissionError: If anything in it is not as it should be.
    """
    header, rows = _parse(submission)
    _check_columns(header, rules.columns)
    place = {column: header.index(column) for column in header}
    found = [row[place[rules.id_column]] for row in rows]
    _check_ids(found, ids)
    by_id = dict(zip(found, rows, strict=True))
    columns = rules.columns[1:]
    cells = [[by_id[identifier][place[column]] for column in columns] for identifier in ids]
    metric = METRICS[rules.metric]
    if metric.prediction == "labels":
        return _labels([row[0] for row in cells], ids, rules.classes)
    numbers = np.array([_numbers(row, id_, columns) for row, id_ in zip(cells, ids, strict=True)])
    if metric.prediction == "probabilities":
        return _probabilities(numbers, ids)
    if not metric.negative_allowed:
        negative = numbers.min(axis=1) < 0
        _refuse(negative, ids, "is negative, which the logarithm of the metric rules out")
    return numbers[:, 0] if len(columns) == 1 else numbers


def _parse(submission: bytes) -> tuple[list[str], list[list[str]]]:
    if len(submission) > MAX_BYTES:
        raise InvalidSubmissionError(f"the file has more than {MAX_BYTES} bytes")
    try:
        text = submission.decode("utf-8-sig")
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidSubmissionError(f"the file is not CSV in UTF-8: {error}") from error
    if not lines:
        raise InvalidSubmissionError("the file is empty")
    header, *rows = [[cell.strip() for cell in row] for row in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InvalidSubmissionError(
                f"row {number} has {len(row)} cells where the header has {len(header)}"
            )
    return header, rows


def _check_columns(header: list[str], expected: tuple[str, ...]) -> None:
    if Counter(header) != Counter(expected):
        raise InvalidSubmissionError(
            f"the columns are {_few(header)}; they have to be {_few(list(expected))}"
        )


def _check_ids(found: list[str], expected: Sequence[str]) -> None:
    repeated = [identifier for identifier, times in Counter(found).items() if times > 1]
    missing = sorted(set(expected) - set(found))
    unknown = sorted(set(found) - set(expected))
    problems = [
        f"{len(ids)} {word}: {_few(ids)}"
        for word, ids in (("repeated", repeated), ("missing", missing), ("unknown", unknown))
        if ids
    ]
    if problems:
        raise InvalidSubmissionError(
            f"ids do not match the {len(expected)} rows of test.csv ({'; '.join(problems)})"
        )


def _labels(cells: list[str], ids: Sequence[str], classes: tuple[str, ...]) -> NDArray[Any]:
    labels = [cell if cell in classes else _without_fraction(cell) for cell in cells]
    unknown = np.array([label not in classes for label in labels])
    if unknown.any():
        strange = sorted({cell for cell, bad in zip(cells, unknown, strict=True) if bad})
        raise InvalidSubmissionError(
            f"{unknown.sum()} labels are not classes of the task: {_few(strange)}; "
            f"the classes are {_few(list(classes))}"
        )
    return np.array(labels)


def _without_fraction(cell: str) -> str:
    """`"3.0"` as `"3"`: whole numbers turn into floats wherever a column once had a gap."""
    head, _, tail = cell.partition(".")
    return head if tail and not tail.strip("0") else cell


def _numbers(cells: list[str], identifier: str, columns: Sequence[str]) -> list[float]:
    return [_number(cell, identifier, column) for cell, column in zip(cells, columns, strict=True)]


def _number(cell: str, identifier: str, column: str) -> float:
    try:
        number = float(cell) if "_" not in cell else math.nan
    except ValueError:
        number = math.nan
    if not abs(number) <= _LARGEST:
        raise InvalidSubmissionError(
            f"{column!r} of id {identifier} is {cell[:40]!r}; it has to be a finite number"
        )
    return number


def _probabilities(numbers: NDArray[np.float64], ids: Sequence[str]) -> NDArray[np.float64]:
    _refuse(numbers.min(axis=1) < 0, ids, "has a negative probability")
    _refuse(numbers.max(axis=1) > 1, ids, "has a probability above 1")
    totals = numbers.sum(axis=1, keepdims=True)
    _refuse(totals[:, 0] == 0, ids, "has only zero probabilities")
    normalised: NDArray[np.float64] = numbers / totals
    return normalised


def _refuse(bad: NDArray[np.bool_], ids: Sequence[str], what: str) -> None:
    if bad.any():
        first = ids[int(np.argmax(bad))]
        raise InvalidSubmissionError(f"id {first} {what} ({bad.sum()} such rows)")


def _few(items: list[str], count: int = 5) -> str:
    shown = ", ".join(repr(item[:40]) for item in items[:count])
    return shown if len(items) <= count else f"{shown} and {len(items) - count} more"
