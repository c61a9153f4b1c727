"""Dividing a table into a part to train on, public answers and private answers.

Everything random here is a hash of the *features* of a row. The result is the same on every
machine and with every version of numpy and pandas, and neither the ids nor the order of the
rows can say anything about the target that the features do not say.

The answers of the public part are hidden too, but an agent is told how it does on them; what it
does on the private part decides its score, and is never shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from wmrl_gym.envs.mle.grading.guest.table import PRIVATE, PUBLIC, USAGE
from wmrl_gym.envs.mle.table import Table
from wmrl_gym.errors import TaskError

PUBLIC_SHARE, PRIVATE_SHARE = 0.1, 0.3
"""Shares of the rows whose answers are hidden."""
HIDDEN_SHARE = PUBLIC_SHARE + PRIVATE_SHARE
_STRATA = 5
"""Quantile bins of a numeric target, so that the parts have the same distribution."""


def table(task: Table) -> pd.DataFrame:
    """Read the data of a task.

    Args:
        task: The task.

    Returns:
        Features in their order, then the targets, and the columns of ids and of the split where
        the data have them; without rows that lack a target, and without repeated rows.

    Raises:
        TaskError: If the data do not have the columns and classes that the task names.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    frame = task.source.read()
    targets = list(task.targets)
    given = [c for c in (task.id_column, task.split_column) if c in frame.columns]
    features = list(task.columns) or [c for c in frame.columns if c not in {*targets, *given}]
    needed = {*features, *targets, task.time_column or targets[0], task.split_column or targets[0]}
    if lacking := sorted(needed - set(frame.columns)):
        raise TaskError(f"the data of task {task.name!r} have no columns {lacking}")
    frame = frame[[*features, *targets, *given]].dropna(subset=targets)
    frame = frame.drop_duplicates(ignore_index=True)
    strange = set(frame[targets[0]].astype(str)) - set(task.classes)
    if task.classes and strange:
        raise TaskError(f"task {task.name!r}: target has labels {sorted(strange)} outside classes")
    return _sampled(task, frame)


def _sampled(task: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """`task.rows` of the rows, in their order."""
    if task.rows is None or len(frame) <= task.rows:
        return frame
    digests = pd.Series(
        [_digest(task, f"sample|{text}") for text in _feature_texts(task, frame)],
        index=frame.index,
    )
    # The first row of each class stays: a class that no row shows cannot be learnt or graded.
    # Of data that come with a split this would fill one part with what is rare.
    keeps = bool(task.classes) and not task.split_column
    kept = frame.index[~frame[task.target].duplicated()] if keeps else frame.index[:0]
    others = digests.drop(kept).sort_values().index[: task.rows - len(kept)]
    return frame.loc[sorted([*kept, *others])].reset_index(drop=True)


def split(
    task: Table, frame: pd.DataFrame, *, hidden_share: float = HIDDEN_SHARE
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Divide a table into what is public and what is hidden.

    Rows with equal features stay on one side, so that no answer can be looked up.

    Args:
        task: The task.
        frame: What `table` gives.
        hidden_share: Share of the rows to hide, where neither task nor data name them.

    Returns:
        Training rows and hidden rows, both with ids and targets, both shuffled unless the data
        have ids of their own. The hidden rows have a column `Usage`.
    """
    texts = _feature_texts(task, frame)
    part = _parts(task, frame, texts, hidden_share)
    if task.id_column not in frame.columns:
        frame, part = _with_ids(task, frame, texts, part)
    ordered = [task.id_column, *(c for c in frame.columns if c != task.id_column)]
    frame = frame[[c for c in ordered if c != task.split_column]]
    hidden = part != ""
    return frame[~hidden], frame[hidden].assign(**{USAGE: part[hidden]})


def _with_ids(
    task: Table, frame: pd.DataFrame, texts: Sequence[str], part: NDArray[np.str_]
) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """The rows shuffled, with new ids that say nothing."""
    # Rows with equal features must get different ids: number them.
    numbers = pd.Series(texts).groupby(list(texts)).cumcount()
    digests = [_digest(task, f"row|{text}|{k}") for text, k in zip(texts, numbers, strict=True)]
    ids = pd.Series([digest[32:] for digest in digests]).rank().astype(int)
    shuffled = np.argsort(np.array([digest[:32] for digest in digests]))
    frame = frame.assign(**{task.id_column: ids.to_numpy()})
    return frame.iloc[shuffled], part[shuffled]


def _parts(
    task: Table, frame: pd.DataFrame, texts: Sequence[str], hidden_share: float
) -> NDArray[np.str_]:
    """`[N]` part of each row: `""` to train on, `Public`, or `Private`."""
    if task.split_column:
        return _given(task, frame, texts)
    if task.time_column:
        return _by_time(frame[task.time_column].to_numpy(), hidden_share)
    return _stratified(task, frame, texts, hidden_share)


def _private(hidden_share: float) -> float:
    return hidden_share * PRIVATE_SHARE / HIDDEN_SHARE


def _given(task: Table, frame: pd.DataFrame, texts: Sequence[str]) -> NDArray[np.str_]:
    """The parts that the data name; the public answers are drawn of test rows without a part."""
    named = frame[task.split_column].to_numpy(dtype=str)
    if set(named.tolist()) <= {"train", PUBLIC, PRIVATE}:
        return np.where(named == "train", "", named)
    test = named == "test"
    part = np.where(test, PRIVATE, "")
    drawn = _drawn(task, np.array(texts)[test], _strata(task, frame)[test])
    part[np.flatnonzero(test)[drawn]] = PUBLIC
    return part


def _drawn(task: Table, texts: NDArray[np.str_], strata: NDArray[np.generic]) -> NDArray[np.bool_]:
    """`[N]` which of the test rows have public answers: the same share of each stratum."""
    digests = [_digest(task, f"usage|{text}") for text in texts.tolist()]
    rows = pd.DataFrame({"stratum": strata, "digest": digests})
    by_stratum = rows.sort_values("digest", kind="stable").groupby("stratum")["digest"]
    size = by_stratum.transform("size").sort_index()
    drawn = by_stratum.cumcount().sort_index() < (size * PUBLIC_SHARE / HIDDEN_SHARE).round()
    return np.asarray(drawn)


def _by_time(times: NDArray[np.generic], hidden_share: float) -> NDArray[np.str_]:
    """The past to train on, then the public part, then the private one."""
    ordered = np.sort(times)
    first_hidden = ordered[round(len(times) * (1 - hidden_share))]
    first_private = ordered[round(len(times) * (1 - _private(hidden_share)))]
    return np.where(times >= first_private, PRIVATE, np.where(times >= first_hidden, PUBLIC, ""))


def _stratified(
    task: Table, frame: pd.DataFrame, texts: Sequence[str], hidden_share: float
) -> NDArray[np.str_]:
    """The same shares of each class, or of each fifth of a numeric target."""
    groups = pd.DataFrame({"text": texts, "stratum": _strata(task, frame)}).drop_duplicates("text")
    groups["digest"] = [_digest(task, f"split|{text}") for text in groups["text"]]
    by_stratum = groups.sort_values("digest").groupby("stratum")["text"]
    rank, size = by_stratum.cumcount(), by_stratum.transform("size")
    private = rank < (size * _private(hidden_share)).round()
    hidden = rank < (size * hidden_share).round()
    parts = np.where(private, PRIVATE, np.where(hidden, PUBLIC, ""))
    part_of = dict(zip(groups["text"].loc[rank.index], parts, strict=True))
    return np.array([part_of[text] for text in texts])


def _strata(task: Table, frame: pd.DataFrame) -> NDArray[np.generic]:
    # The last target: the event of a survival, whose share matters more than the times.
    target = frame[task.targets[-1]]
    if task.classes or not is_numeric_dtype(target) or target.nunique() <= _STRATA:
        return np.asarray(target.astype(str))
    return np.asarray(pd.qcut(target, _STRATA, labels=False, duplicates="drop"))


def _feature_texts(task: Table, frame: pd.DataFrame) -> list[str]:
    others = [c for c in (task.id_column, task.split_column) if c in frame.columns]
    rows = frame.drop(columns=[*task.targets, *others]).itertuples(index=False)
    return ["|".join(map(str, row)) for row in rows]


def _digest(task: Table, text: str) -> str:
    return hashlib.sha256(f"{task.name}|{text}".encode()).hexdigest()
