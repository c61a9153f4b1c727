"""The strict check that stands before graders of other benchmarks, and the alignment of rows.

These graders differ in what they check and whether they match rows by id. What a submission
has to look like is therefore taken from the sample submission and the answers: the same
columns, the same ids once each, finite numbers where the sample has finite numbers. Rows are
then put into the order of the answers, whatever the grader does about it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from wmrl_gym.envs.mle.grading.guest.form import Form, keys
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError

_SHOWN = 5


def read_table(path: Path, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV file as MLE-bench does, but refuse lines that do not fit the header.

    Args:
        path: The file.
        text_columns: Columns to read as text even where they look like numbers.

    Raises:
        ValueError: If it is no CSV file in UTF-8, or empty.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        try:
            table = pd.read_csv(
                path,
                float_precision="round_trip",
                index_col=False,
                dtype=dict.fromkeys(text_columns, str),
                encoding="utf-8-sig",
            )
        except pd.errors.ParserWarning as error:
            raise ValueError("some rows have more cells than the header") from error
    # Else a grader could not fill in text, as it could in the pandas that it was written for.
    empty = [name for name in table.columns if table[name].isna().all()]
    return table.astype(dict.fromkeys(empty, object))


def read_submission(path: Path, form: Form) -> pd.DataFrame:
    """Read a submission and put its rows and columns into order.

    Raises:
        InvalidSubmissionError: If anything in it is not as `form` says.
    """
    text = [name for name, kind in (form.kinds or {}).items() if kind in ("text", "label")]
    try:
        frame = read_table(path, tuple(text))
    except (ValueError, UnicodeDecodeError) as error:  # pandas' own errors are among them
        raise InvalidSubmissionError(f"the file is not CSV in UTF-8: {error}") from error
    return conform(frame, form)


def conform(frame: pd.DataFrame, form: Form) -> pd.DataFrame:
    """Check a table against `form`, and put its rows and columns into order.

    Raises:
        InvalidSubmissionError: If anything in it is not as `form` says.
    """
    if form.columns and set(frame.columns) != set(form.columns):
        raise InvalidSubmissionError(
            f"the columns are {_few(frame.columns)}; they have to be {_few(form.columns)}"
        )
    if form.id_column:
        frame = _align(frame, form)
    for name, kind in (form.kinds or {}).items():
        _check_kind(frame[name], kind)
    return frame[list(form.columns)] if form.columns else frame


def _check_kind(values: pd.Series, kind: str) -> None:
    if kind == "truth" and not is_bool_dtype(values):
        raise InvalidSubmissionError(f"column {values.name!r} has to hold True or False only")
    if kind == "label" and values.isna().any():
        raise InvalidSubmissionError(
            f"column {values.name!r} is empty in {values.isna().sum()} rows"
        )
    if kind != "number":
        return
    if not is_numeric_dtype(values):
        raise InvalidSubmissionError(f"column {values.name!r} has to hold numbers only")
    bad = ~np.isfinite(values.to_numpy(dtype=float))
    if bad.any():
        raise InvalidSubmissionError(
            f"column {values.name!r} has {bad.sum()} values that are no finite numbers"
        )


def _align(frame: pd.DataFrame, form: Form) -> pd.DataFrame:
    if form.id_column not in frame.columns:
        raise InvalidSubmissionError(f"there is no column {form.id_column!r}")
    found = pd.Series(keys(frame[form.id_column]))
    expected = set(form.ids)
    problems = {
        "repeated": found[found.duplicated()].unique().tolist(),
        "missing": sorted(expected - set(found)),
        "unknown": sorted(set(found) - expected),
    }
    told = [f"{len(ids)} {word}: {_few(ids)}" for word, ids in problems.items() if ids]
    if told:
        raise InvalidSubmissionError(
            f"the ids in {form.id_column!r} do not match the {len(form.ids)} rows to predict "
            f"({'; '.join(told)})"
        )
    place = dict(zip(found, range(len(found)), strict=True))
    ordered = frame.iloc[[place[key] for key in form.ids]].reset_index(drop=True)
    return ordered.assign(**{form.id_column: form.id_values})


def _few(items: Any) -> str:
    shown = [repr(str(item)[:40]) for item in list(items)[:_SHOWN]]
    further = len(items) - len(shown)
    return ", ".join(shown) + (f" and {further} more" if further > 0 else "")
