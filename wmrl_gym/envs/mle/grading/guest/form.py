"""What a submission has to look like, as far as the sample submission and the answers tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype


@dataclass(frozen=True)
class Form:
    """What a submission has to look like, as far as files tell."""

    columns: tuple[str, ...] = ()
    """Columns, in the order of the sample submission; empty if it is not known."""
    id_column: str = ""
    """Column of the submission that tells rows apart; empty if none does."""
    ids: tuple[str, ...] = ()
    """`[N]` ids of all rows, in the order that rows are put into."""
    id_values: pd.Series | None = None
    """`[N]` the same as they stand in the answers, so that types agree."""
    is_order_of_answers: bool = False
    """Whether row `i` belongs to row `i` of the answers."""
    kinds: Mapping[str, str] | None = None
    """What a column holds, for those where it is known: `number`, `truth`, `text`, `label`."""


def form_of(sample: pd.DataFrame | None, answers: Any) -> Form:
    """What submissions have to look like.

    Args:
        sample: The sample submission, if there is one.
        answers: The answers; what is no table tells nothing.
    """
    table = answers if isinstance(answers, pd.DataFrame) else None
    kinds = {} if sample is None else _kinds(sample, table)
    columns = () if sample is None else tuple(map(str, sample.columns))
    if table is None:
        return Form(columns=columns, kinds=kinds)
    if sample is None:
        return _form_of_answers(table)
    pair = _id_columns(sample, table)
    if pair is None:
        return Form(columns=columns, kinds=kinds)
    kinds.pop(pair[0], None)
    ours, theirs = sample[pair[0]], table[pair[1]]
    # A sample that is cut short is completed by the answers; answers to a part of the rows are
    # the grader's business, which then sees all rows.
    is_part = set(keys(ours)) <= set(keys(theirs))
    values = (theirs if is_part else ours).reset_index(drop=True)
    return Form(
        columns=columns,
        id_column=pair[0],
        ids=tuple(keys(values)),
        id_values=values,
        is_order_of_answers=is_part,
        kinds=kinds,
    )


def answers_as_submission(answers: Any, form: Form, sample: pd.DataFrame | None) -> pd.DataFrame:
    """The answers in the form of a submission, which is a perfect one.

    Raises:
        ValueError: If the answers lack columns of a submission.
    """
    if not isinstance(answers, pd.DataFrame):
        raise ValueError("the answers are no table")
    if sample is None:
        return answers.copy()
    frame = answers.copy()
    if form.id_column and form.id_column not in frame and form.id_values is not None:
        frame[form.id_column] = form.id_values.to_numpy()
    lacking = [name for name in form.columns if name not in frame]
    if lacking:
        raise ValueError(f"the answers have no column {', '.join(lacking[:5])}")
    return frame[list(form.columns)]


def keys(values: pd.Series) -> list[str]:
    """Ids as text, in which 3 and 3.0 are the same."""
    if is_float_dtype(values) and np.isfinite(values).all() and (values % 1 == 0).all():
        values = values.astype("int64")
    return [str(value).strip() for value in values.tolist()]


def _form_of_answers(answers: pd.DataFrame) -> Form:
    first = answers[answers.columns[0]]
    if len(answers.columns) < 2 or is_float_dtype(first) or not first.is_unique:
        return Form()
    return Form(
        id_column=str(first.name),
        ids=tuple(keys(first)),
        id_values=first.reset_index(drop=True),
        is_order_of_answers=True,
    )


def _id_columns(sample: pd.DataFrame, answers: pd.DataFrame) -> tuple[str, str] | None:
    """The columns of the two tables that tell rows apart and hold the same ids."""
    if len(sample.columns) < 2:
        return None
    first = (sample.columns[0], answers.columns[0])
    shared = [(name, name) for name in sample.columns if name in answers.columns]
    for ours, theirs in [*shared, first]:
        if _relation(sample[ours], answers[theirs]) == "equal":
            return ours, theirs
    for ours, theirs in [*shared[:1], first]:
        if ours == sample.columns[0] and _relation(sample[ours], answers[theirs]):
            return ours, theirs
    return None


def _relation(ours: pd.Series, theirs: pd.Series) -> str:
    """Whether the ids are equal, or one a part of the other; empty if they are no ids."""
    if not (ours.is_unique and theirs.is_unique) or is_bool_dtype(ours):
        return ""
    one, other = set(keys(ours)), set(keys(theirs))
    if one == other:
        return "equal"
    return "part" if one and other and (one < other or other < one) else ""


def _kinds(sample: pd.DataFrame, answers: pd.DataFrame | None) -> dict[str, str]:
    kinds = {}
    for name in sample.columns:
        answer = answers[name] if answers is not None and name in answers.columns else None
        kind = _kind(sample[name], answer)
        if kind:
            kinds[str(name)] = kind
    return kinds


def _kind(sample: pd.Series, answer: pd.Series | None) -> str:
    """What a column has to hold; empty if the sample does not tell."""
    if sample.isna().all():
        return ""
    is_text = not is_numeric_dtype(sample)
    if answer is not None and not is_numeric_dtype(answer) and not answer.isna().all():
        is_text = True  # whatever placeholder the sample has
    if is_text:
        # Where neither has a gap, an empty cell is no answer; elsewhere it may be one.
        whole = answer is not None and not answer.isna().any() and not sample.isna().any()
        return "label" if whole else "text"
    if is_bool_dtype(sample):
        return "truth"
    return "number" if np.isfinite(sample.to_numpy(dtype=float)).all() else ""
