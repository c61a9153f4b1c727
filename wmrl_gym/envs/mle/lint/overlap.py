"""Test rows that are training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from wmrl_gym.envs.mle.lint.findings import Finding, Severity
from wmrl_gym.envs.mle.lint.parts import Parts

SHARE, MANY = 0.01, 0.1
"""Shares of the test rows from which on repeated ones are worth a warning, and an error."""
RIGHT = 0.95
"""Share of right answers from which on looking them up is as good as knowing."""


def repeats_rows(parts: Parts) -> Iterator[Finding]:
    """Rows of test.csv with the features of a row of train.csv, whose target is public."""
    train, test = _digests(parts)
    repeated = test.isin(train).to_numpy()
    if not repeated.any():
        return
    share, right = repeated.mean(), _right(parts, train, test, repeated)
    # Few columns of few values repeat by chance; that is a leak only where it tells answers.
    serious = Severity.ERROR if share >= MANY and right >= RIGHT else Severity.WARNING
    yield Finding(
        "duplicate-rows",
        serious if share >= SHARE else Severity.NOTE,
        f"{repeated.sum()} of {len(test)} rows of test.csv ({share:.1%}) have the features of a "
        f"row of train.csv, whose target is the answer for {right:.0%} of them; first id: "
        f"{parts.test[parts.id_column][np.argmax(repeated)]!r}",
    )


def _right(
    parts: Parts,
    train: pd.Series[int],
    test: pd.Series[int],
    repeated: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> float:
    """Share of the repeated rows whose targets are those of the last equal training row."""
    last = {key: row for row, key in enumerate(train)}
    rows = [last[key] for key in test[repeated]]
    equal = np.ones(len(rows), dtype=bool)
    for target in parts.targets:
        known, answers = parts.target(target)
        equal &= known[rows] == answers[repeated]
    return float(equal.mean())


def without_repeats(parts: Parts) -> Parts:
    """The tables without the test rows that are training rows."""
    train, test = _digests(parts)
    new = ~test.isin(train).to_numpy()
    test_rows, answers = (
        table[new].reset_index(drop=True) for table in (parts.test, parts.answers)
    )
    return replace(parts, test=test_rows, answers=answers)


def _digests(parts: Parts) -> tuple[pd.Series[int], pd.Series[int]]:
    """A number for each row of both tables, equal for equal features."""
    if not parts.features:
        return pd.Series(dtype=int), pd.Series(-1, index=range(len(parts.test)))
    frames = (
        pd.DataFrame({name: halves[half] for name, halves in parts.features.items()})
        for half in (0, 1)
    )
    train, test = (pd.util.hash_pandas_object(frame, index=False) for frame in frames)
    return train, test
