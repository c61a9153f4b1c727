"""Dividing a table into a public part and a hidden part.

Everything random here is a hash of the *features* of a row. The result is the same on every
machine and with every version of numpy and pandas, and neither the ids nor the order of the
rows can say anything about the target that the features do not say.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.errors import TaskError

if TYPE_CHECKING:
    from wmrl_gym.envs.mle.task import Task

HIDDEN_SHARE = 0.3
"""Share of the rows whose answers are hidden."""
_STRATA = 5
"""Quantile bins of a numeric target, so that both parts have the same distribution."""


def table(task: Task) -> pd.DataFrame:
    """Read the data of a task.

    Args:
        task: The task.

    Returns:
        Features in their order, then the target; without rows that lack a target, and
        without repeated rows.

    Raises:
        TaskError: If the data do not have the columns and classes that the task names.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    frame = task.source.read()
    features = list(task.columns) or [column for column in frame.columns if column != task.target]
    needed = {*features, task.target, task.time_column or task.target}
    if lacking := sorted(needed - set(frame.columns)):
        raise TaskError(f"the data of task {task.name!r} have no columns {lacking}")
    frame = frame[[*features, task.target]].dropna(subset=task.target)
    frame = frame.drop_duplicates(ignore_index=True)
    strange = set(frame[task.target].astype(str)) - set(task.classes)
    if task.classes and strange:
        raise TaskError(f"task {task.name!r}: target has labels {sorted(strange)} outside classes")
    return frame


def split(task: Task, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Divide a table into what is public and what is hidden.

    Rows with equal features stay on one side, so that no answer can be looked up.

    Args:
        task: The task.
        frame: Features and target, without ids.

    Returns:
        Training rows and hidden rows, both with ids and targets, both shuffled.
    """
    texts = _feature_texts(task, frame)
    hidden = _latest(task, frame) if task.time_column else _stratified(task, frame, texts)
    # Rows with equal features must get different ids: number them.
    numbers = pd.Series(texts).groupby(texts).cumcount()
    digests = [_digest(task, f"row|{text}|{k}") for text, k in zip(texts, numbers, strict=True)]
    ids = pd.Series([digest[32:] for digest in digests]).rank().astype(int)
    shuffled = np.argsort(np.array([digest[:32] for digest in digests]))
    frame = frame.copy()
    frame.insert(0, task.id_column, ids.to_numpy())
    frame, hidden = frame.iloc[shuffled], hidden[shuffled]
    return frame[~hidden], frame[hidden]


def _feature_texts(task: Task, frame: pd.DataFrame) -> list[str]:
    rows = frame.drop(columns=task.target).itertuples(index=False)
    return ["|".join(map(str, row)) for row in rows]


def _digest(task: Task, text: str) -> str:
    return hashlib.sha256(f"{task.name}|{text}".encode()).hexdigest()


def _latest(task: Task, frame: pd.DataFrame) -> NDArray[np.bool_]:
    times = frame[task.time_column].to_numpy()
    first_hidden = np.sort(times)[round(len(times) * (1 - HIDDEN_SHARE))]
    return np.asarray(times >= first_hidden)


def _stratified(task: Task, frame: pd.DataFrame, texts: list[str]) -> NDArray[np.bool_]:
    """Which rows to hide: the same share of each class, or of each fifth of the target."""
    target = frame[task.target]
    strata = target if task.classes else pd.qcut(target, _STRATA, labels=False, duplicates="drop")
    groups = pd.DataFrame({"text": texts, "stratum": strata.to_numpy()}).drop_duplicates("text")
    groups["digest"] = [_digest(task, f"split|{text}") for text in groups["text"]]
    by_stratum = groups.sort_values("digest").groupby("stratum")
    last = (by_stratum["text"].transform("size") * HIDDEN_SHARE).round()
    hidden = set(groups["text"][by_stratum.cumcount() < last])
    return np.array([text in hidden for text in texts])
