"""Preparing a task: its table becomes a public part and hidden answers.

The layout is that of MLE-bench:

    <cache>/tasks/<name>/<version>/prepared/public/train.csv              id, features, target
                                                  /test.csv               id, features
                                                  /sample_submission.csv  a valid submission
                                                  /description.md
                                          /private/test.csv               id, target

Everything random here is a hash of the *features* of a row. The result is the same on every
machine and with every version of numpy and pandas, and neither the ids nor the order of the
rows can say anything about the target that the features do not say.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import platformdirs
from numpy.typing import NDArray

from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.errors import TaskError

if TYPE_CHECKING:
    from wmrl_gym.envs.mle.task import Task

LAYOUT = "1"
"""Raise it with any change to reading, splitting or metrics that changes what scores mean."""
HIDDEN_SHARE = 0.3
"""Share of the rows whose answers are hidden."""
_STRATA = 5
"""Quantile bins of a numeric target, so that both parts have the same distribution."""


def cache_directory() -> Path:
    """Where prepared tasks are kept: `$WMRL_GYM_CACHE`, or the user's cache directory."""
    return Path(os.environ.get("WMRL_GYM_CACHE") or platformdirs.user_cache_dir("wmrl_gym"))


def prepare(task: Task) -> Path:
    """Write the files of `task` unless they are there.

    Safe when several processes prepare the same task: each writes a directory of its own
    and the first to finish moves it into place.

    Args:
        task: The task.

    Returns:
        The directory that holds `public` and `private`.

    Raises:
        TaskError: If the data do not fit the task, or the cache cannot be written.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    place = cache_directory() / "tasks" / task.name / task.version
    if not place.is_dir():
        train, test = split(task, _table(task))
        try:
            _write_atomically(task, train, test, place)
        except OSError as error:
            raise TaskError(
                f"cannot write the task to {place}: {error}; "
                "set the environment variable WMRL_GYM_CACHE to a directory that can be written"
            ) from error
    return place / "prepared"


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


def _table(task: Task) -> pd.DataFrame:
    """Features in their order, target last; no unknown targets, no repeated rows."""
    frame = task.source.read()
    features = list(task.columns) or [column for column in frame.columns if column != task.target]
    if task.time_column is not None and task.time_column not in features:
        raise TaskError(f"time_column={task.time_column!r} is not a feature of task {task.name!r}")
    frame = frame[[*features, task.target]].dropna(subset=task.target)
    frame = frame.drop_duplicates(ignore_index=True)
    strange = set(frame[task.target].astype(str)) - set(task.classes)
    if task.classes and strange:
        raise TaskError(f"task {task.name!r}: target has labels {sorted(strange)} outside classes")
    return frame


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


def sample_submission(task: Task, train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """A valid submission that says the same for each row.

    Args:
        task: The task.
        train: Training rows.
        test: Hidden rows; only their ids are used.

    Returns:
        The columns of a submission, in the order of `test`.
    """
    constant: str | float
    match METRICS[task.metric].prediction:
        case "labels":
            constant = str(train[task.target].mode().iloc[0])
        case "values":
            constant = round(float(train[task.target].mean()), 4)
        case "score":
            constant = 0.5
        case "probabilities":
            constant = round(1 / len(task.classes), 4)
    sample = test[[task.id_column]].copy()
    sample[list(task.submission_columns[1:])] = constant
    return sample


def _write_atomically(task: Task, train: pd.DataFrame, test: pd.DataFrame, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        _write(task, train, test, draft / "prepared")
        draft.chmod(0o755)
        try:
            draft.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another process was first, with the same bytes
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(task: Task, train: pd.DataFrame, test: pd.DataFrame, directory: Path) -> None:
    public, private = directory / "public", directory / "private"
    public.mkdir(parents=True)
    private.mkdir(mode=0o700)
    tables = {
        public / "train.csv": train,
        public / "test.csv": test.drop(columns=task.target),
        public / "sample_submission.csv": sample_submission(task, train, test),
        private / "test.csv": test[[task.id_column, task.target]],
    }
    for path, table in tables.items():
        table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
    (public / "description.md").write_text(task.description, encoding="utf-8", newline="\n")
    # The user's umask may hide files from the user that a sandbox runs as.
    for path, mode in ((directory, 0o755), (public, 0o755), (private, 0o700)):
        path.chmod(mode)
    for path in public.iterdir():
        path.chmod(0o644)
