"""Preparing a task: its table becomes a public part and hidden answers.

The layout is that of MLE-bench:

    <cache>/tasks/<name>/<version>/prepared/public/train.csv              id, features, targets
                                                  /test.csv               id, features
                                                  /sample_submission.csv  a valid submission
                                                  /description.md
                                          /private/test.csv               id, targets, Usage
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import pandas as pd
import platformdirs

from wmrl_gym.envs.mle.describe import describe
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.table import USAGE
from wmrl_gym.envs.mle.splitting import split, table
from wmrl_gym.envs.mle.table import Table
from wmrl_gym.errors import TaskError


def cache_directory() -> Path:
    """Where prepared tasks are kept: `$WMRL_GYM_CACHE`, or the user's cache directory."""
    return Path(os.environ.get("WMRL_GYM_CACHE") or platformdirs.user_cache_dir("wmrl_gym"))


def prepare(task: Table) -> Path:
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
    place = cache_directory() / "tasks" / _directory_name(task.name) / task.version
    if not place.is_dir():
        train, test = split(task, table(task))
        try:
            _write_atomically(task, train, test, place)
        except OSError as error:
            raise TaskError(
                f"cannot write the task to {place}: {error}; "
                "set the environment variable WMRL_GYM_CACHE to a directory that can be written"
            ) from error
    return place / "prepared"


def _directory_name(name: str) -> str:
    """A task's name as that of one directory; the version tells apart what becomes equal."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("-.")[-100:]


def sample_submission(task: Table, train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """A valid submission that says the same for each row.

    Args:
        task: The task.
        train: Training rows.
        test: Hidden rows; only their ids are used.

    Returns:
        The columns of a submission, in the order of `test`.
    """
    columns = task.submission_columns[1:]
    constants: list[str | float]
    match METRICS[task.metric].prediction:
        case "labels":
            constants = [str(train[task.target].mode().iloc[0])]
        case "values":
            constants = [round(float(train[target].mean()), 4) for target in task.targets]
        case "score":
            constants = [0.5] * len(columns)
        case "probabilities":
            constants = [round(1 / len(columns), 4)] * len(columns)
    filled = {column: [c] * len(test) for column, c in zip(columns, constants, strict=True)}
    return pd.DataFrame({task.id_column: test[task.id_column].to_numpy(), **filled})


def _write_atomically(task: Table, train: pd.DataFrame, test: pd.DataFrame, place: Path) -> None:
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


def _write(task: Table, train: pd.DataFrame, test: pd.DataFrame, directory: Path) -> None:
    public, private = directory / "public", directory / "private"
    public.mkdir(parents=True)
    private.mkdir(mode=0o700)
    tables = {
        public / "train.csv": train,
        public / "test.csv": test.drop(columns=[*task.targets, USAGE]),
        public / "sample_submission.csv": sample_submission(task, train, test),
        private / "test.csv": test[[task.id_column, *task.targets, USAGE]],
    }
    for path, content in tables.items():
        content.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
    (public / "description.md").write_text(describe(task), encoding="utf-8", newline="\n")
    # The user's umask may hide files from the user that a sandbox runs as.
    for path, mode in ((directory, 0o755), (public, 0o755), (private, 0o700)):
        path.chmod(mode)
    for path in public.iterdir():
        path.chmod(0o644)
