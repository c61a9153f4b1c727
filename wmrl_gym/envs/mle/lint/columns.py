"""Columns that are the target under another name, and columns that say nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from wmrl_gym.envs.mle.lint.findings import Finding, Severity, few
from wmrl_gym.envs.mle.lint.lookup import explained, one_to_one
from wmrl_gym.envs.mle.lint.overlap import without_repeats
from wmrl_gym.envs.mle.lint.parts import Column, Parts
from wmrl_gym.envs.mle.lint.statistics import correlation

PERFECT, NEARLY = 0.995, 0.95
"""Shares of the error of a constant answer that one column has to remove to be reported."""
MONOTONE = 0.9995
"""Absolute rank correlation from which on a number is the target in another unit."""
LEAST_ROWS = 10
"""Test rows outside the largest class that it takes to call anything perfect."""
_MAX_TARGETS = 20


def is_target(parts: Parts) -> Iterator[Finding]:
    """Columns from which alone the target of the test rows can be told.

    A column is the target if both are equal, if labels go with values one-to-one, if a number
    rises or falls with the target in all rows, or if the training rows nearest in that column
    answer the test rows. Of many targets the first 20 are tried; test rows that are training
    rows, which any column would tell, are left to another rule.
    """
    parts = without_repeats(parts)
    found: dict[tuple[str, Severity, str], list[str]] = {}
    for target in parts.targets[:_MAX_TARGETS]:
        values = parts.target(target)
        if _varied(values[1]) < LEAST_ROWS:
            continue
        for name, feature in parts.features.items():
            severity, how = _relation(feature, values)
            if severity is not None:
                found.setdefault((name, severity, how), []).append(target)
    for (name, severity, how), targets in found.items():
        yield Finding("target-column", severity, f"column {name!r} {how} {few(targets)}")


def _varied(hidden: Column) -> int:
    """Rows that differ from the most frequent value."""
    return len(hidden) - int(np.unique(hidden, return_counts=True)[1].max(initial=0))


def _relation(
    feature: tuple[Column, Column], target: tuple[Column, Column]
) -> tuple[Severity | None, str]:
    values, answers = np.concatenate(feature), np.concatenate(target)
    if np.array_equal(values, answers):
        return Severity.ERROR, "is equal to"
    if answers.dtype.kind == "U" and one_to_one(values, answers):
        return Severity.ERROR, "has one value for each label of"
    if answers.dtype.kind == values.dtype.kind == "f" and _monotone(values, answers):
        return Severity.ERROR, "rises or falls with"
    share = explained(feature, target)
    if share >= PERFECT:
        return Severity.ERROR, "alone is enough to tell"
    if share >= NEARLY:
        return Severity.WARNING, f"alone takes away {NEARLY:.0%} or more of the error on"
    return None, ""


def _monotone(values: Column, answers: Column) -> bool:
    return abs(correlation(rankdata(values), rankdata(answers))) >= MONOTONE


def is_noise(parts: Parts) -> Iterator[Finding]:
    """Columns that are constant, and columns with a value of its own in each row."""
    columns = {name: np.concatenate(halves) for name, halves in parts.features.items()}
    constant = [name for name, values in columns.items() if _distinct(values) <= 1]
    own = [name for name, values in columns.items() if _is_id(values)]
    if constant:
        message = f"columns without variation: {few(constant)}"
        yield Finding("constant-column", Severity.NOTE, message)
    if own:
        message = f"columns that differ in every row, as an id does: {few(own)}"
        yield Finding("id-like-column", Severity.NOTE, message)


def _distinct(values: Column) -> int:
    return int(pd.Series(values).nunique(dropna=False))


def _is_id(values: Column) -> bool:
    """Whether all values differ and none is a measured number."""
    if values.dtype.kind != "U" and not np.all(values == np.round(values)):
        return False
    return len(values) > 1 and _distinct(values) == len(values)
