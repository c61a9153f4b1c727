"""Checks and splits the data frame that a task is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.table import PRIVATE, PUBLIC, USAGE
from wmrl_gym.envs.mle.importers.folder_source import FolderSource, whole
from wmrl_gym.envs.mle.importers.inference import in_order
from wmrl_gym.envs.mle.importers.task_file import field_problem
from wmrl_gym.envs.mle.splitting import split
from wmrl_gym.envs.mle.table import Table, kinds_of
from wmrl_gym.errors import TaskError

ID = "id"
LEAST_ROWS = 40
LEAST_OF_CLASS = 10
"""Rows of a class that it takes for each part to have one, at the usual shares."""
_MOST_HIDDEN = 0.9


def checked_fields(
    *, target: str | Sequence[str], time_column: str | None, **fields: Any
) -> dict[str, Any]:
    """The fields of the description, in the types of its file.

    Raises:
        TaskError: If one is unknown or of a wrong type.
    """
    given = {
        name: dict(value)
        if isinstance(value, Mapping)
        else value
        if isinstance(value, str) or not isinstance(value, Sequence)
        else list(value)
        for name, value in fields.items()
    }
    given["targets"] = [target] if isinstance(target, str) else list(target)
    if time_column is not None:
        given["time_column"] = time_column
    for name, value in given.items():
        if problem := field_problem(name, value):
            raise TaskError(problem)
    return {**given, "id_column": ID}


def checked(frame: pd.DataFrame, fields: dict[str, Any], drop: Sequence[str]) -> pd.DataFrame:
    """The columns of a task, targets in the form of its files; completes `fields`.

    Args:
        frame: The data.
        fields: What `checked_fields` gave; gets `kind` and `classes`.
        drop: Columns to leave out.

    Raises:
        TaskError: If the data do not make a task.
    """
    targets = fields["targets"]
    _check_columns(frame, fields, drop)
    data = frame.drop(columns=list(drop)).reset_index(drop=True)
    if len(data) < LEAST_ROWS:
        raise TaskError(f"frame has {len(data)} rows; a task needs at least {LEAST_ROWS}")
    time = [fields["time_column"]] if "time_column" in fields else []
    for column in [*targets, *time]:
        if missing := int(data[column].isna().sum()):
            raise TaskError(
                f"column {column!r} has {missing} missing values; leave these rows out: "
                f"frame.dropna(subset=[{column!r}])"
            )
    allowed = kinds_of(fields["metric"])
    if allowed[0] in ("binary", "multiclass"):
        return _classified(data, fields, allowed)
    fields.setdefault("kind", allowed[0])
    data = data.astype({column: int for column in targets if is_bool_dtype(data[column])})
    _check_numbers(data[targets], fields)
    return data


def _check_columns(frame: pd.DataFrame, fields: Mapping[str, Any], drop: Sequence[str]) -> None:
    columns = list(frame.columns)
    if strange := [c for c in columns if not isinstance(c, str) or not c]:
        raise TaskError(f"columns have to be named by text, not {strange}")
    if repeated := [column for column, count in Counter(columns).items() if count > 1]:
        raise TaskError(f"frame has columns {repeated} more than once")
    named = {
        "drop": list(drop),
        "target": fields["targets"],
        "time_column": [fields["time_column"]] if "time_column" in fields else [],
        "columns": list(fields.get("columns", ())),
    }
    for parameter, names in named.items():
        left = columns if parameter == "drop" else [c for c in columns if c not in drop]
        if lacking := [name for name in names if name not in left]:
            raise TaskError(f"{parameter}={lacking} is no column of frame, which has {left}")
    features = [c for c in columns if c not in {*fields["targets"], *drop}]
    if reserved := [column for column in features if column in (ID, USAGE)]:
        raise TaskError(
            f"frame has a column {reserved[0]!r}, a name that the files of a task need: leave it "
            f"out with drop=[{reserved[0]!r}], or rename it"
        )
    if not features:
        raise TaskError("frame has no columns beside the target")


def _classified(data: pd.DataFrame, fields: dict[str, Any], allowed: Sequence[str]) -> pd.DataFrame:
    if len(fields["targets"]) != 1:
        raise TaskError(f"metric={fields['metric']!r} takes one target, not {fields['targets']}")
    (target,) = fields["targets"]
    data = data.assign(**{target: whole(data[target].astype(str))})
    counts = Counter(data[target])
    fields["classes"] = [
        str(label) for label in fields.get("classes") or in_order(list(counts), fields["metric"])
    ]
    if strange := sorted(set(counts) - set(fields["classes"])):
        raise TaskError(f"target {target!r} has labels {strange[:5]} outside classes")
    fields.setdefault("kind", "binary" if len(fields["classes"]) == 2 else "multiclass")
    if fields["kind"] not in allowed or len(fields["classes"]) < 2:
        raise TaskError(
            f"metric={fields['metric']!r} is for kind {' or '.join(allowed)}; target {target!r} "
            f"has {len(fields['classes'])} classes: {fields['classes'][:5]}"
        )
    if rare := {c: counts[c] for c in fields["classes"] if counts[c] < LEAST_OF_CLASS}:
        raise TaskError(
            f"classes of target {target!r} have too few rows, {rare}; each needs at least "
            f"{LEAST_OF_CLASS}: join them with others, or leave them out"
        )
    return data


def _check_numbers(targets: pd.DataFrame, fields: Mapping[str, Any]) -> None:
    if "classes" in fields:
        raise TaskError(f"classes have no meaning for metric={fields['metric']!r}")
    for column in targets:
        values = targets[column]
        if not is_numeric_dtype(values) or not np.isfinite(values.to_numpy(dtype=float)).all():
            raise TaskError(
                f"target {column!r} has to hold finite numbers for metric={fields['metric']!r}"
            )
        if not METRICS[fields["metric"]].negative_allowed and values.min() < 0:
            raise TaskError(
                f"target {column!r} has negative values, which metric={fields['metric']!r} "
                "does not take"
            )


def parts(
    data: pd.DataFrame, fields: Mapping[str, Any], hidden_share: float, salt: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows and hidden rows, with new ids; the hidden ones with `Usage`.

    Args:
        data: What `checked` gave.
        fields: The fields of the description.
        hidden_share: Share of the rows to hide.
        salt: Decides, with the features of a row, on which side it is and which id it gets.

    Raises:
        TaskError: If a part would be empty.
    """
    if not 0 < hidden_share <= _MOST_HIDDEN:
        raise TaskError(f"hidden_share={hidden_share} has to be above 0 and at most {_MOST_HIDDEN}")
    table = Table(
        name=salt,
        title="",
        about="",
        kind=fields["kind"],
        metric=fields["metric"],
        targets=tuple(fields["targets"]),
        target_about="",
        licence="",
        origin="",
        source=FolderSource(),
        classes=tuple(fields.get("classes", ())),
        time_column=fields.get("time_column"),
        id_column=ID,
    )
    train, hidden = split(table, data, hidden_share=hidden_share)
    sizes = {"train": len(train), **{p: int((hidden[USAGE] == p).sum()) for p in (PUBLIC, PRIVATE)}}
    if empty := [name for name, size in sizes.items() if not size]:
        raise TaskError(
            f"no rows are left for {empty} with hidden_share={hidden_share}, of {len(data)} rows "
            "of which those with equal features stay together"
        )
    return train, hidden
