"""A task of one's own from a data frame, in one call.

    from wmrl_gym.envs.mle.authoring import author_task

    task = author_task(frame, "churn", target="churned", metric="roc_auc")
    env = gymnasium.make("WMRL-MLE-v0", task="./churn")

The call splits the rows, gives them ids that say nothing, writes a folder that others can use,
looks for leaks, and measures plain solutions, which the scores of the task are relative to. The
folder is the plain one of `wmrl_gym.envs.mle.importers.folder`: change `task.toml` in it at
will. Its `answers.csv` is for whoever runs the environment, never for whoever solves the task.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pandas as pd

from wmrl_gym.envs.mle.authored_frame import ID, checked, checked_fields, parts
from wmrl_gym.envs.mle.baselines import measure as measure_baselines
from wmrl_gym.envs.mle.catalog import load_tasks
from wmrl_gym.envs.mle.grading.evaluation import GraderError
from wmrl_gym.envs.mle.grading.guest.table import USAGE
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError
from wmrl_gym.envs.mle.importers import folder
from wmrl_gym.envs.mle.importers.folder_source import ANSWERS, TEST, TRAIN
from wmrl_gym.envs.mle.importers.task_file import to_toml
from wmrl_gym.envs.mle.lint import Finding, Severity, lint
from wmrl_gym.envs.mle.prepare import prepare
from wmrl_gym.envs.mle.sample_reference import SAMPLE
from wmrl_gym.envs.mle.splitting import HIDDEN_SHARE
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError


class LeakWarning(UserWarning):
    """A task that was written may give answers away."""


class Description(TypedDict, total=False):
    """What may be said about a task beside its data; see `wmrl_gym.envs.mle.table.Table`."""

    title: str
    about: str
    target_about: str
    columns: Mapping[str, str]
    classes: Sequence[str]
    kind: str
    tags: Sequence[str]
    licence: str
    origin: str
    timeout_s: float


def author_task(
    frame: pd.DataFrame,
    directory: str | Path,
    *,
    target: str | Sequence[str],
    metric: str,
    time_column: str | None = None,
    drop: Sequence[str] = (),
    hidden_share: float = HIDDEN_SHARE,
    seed: int = 0,
    measure: bool = True,
    allow_leaks: bool = False,
    **description: Unpack[Description],
) -> TableTask:
    """Make a task of a data frame, as a folder that can be given to others.

    Rows are split at random, with equal shares of each class or range of the target, or by
    time; rows with equal features stay on one side. Of the hidden rows a quarter is public:
    agents are told how they do on it. Ids are new, and rows shuffled.

    Args:
        frame: `[N, ...]` features and targets, at least 40 rows. Its index is not used.
        directory: Folder to make; its parent has to exist. Its name is that of the task.
        target: Column to predict, or several of them.
        metric: Name of the metric, a key of `METRICS`.
        time_column: Column to split by, the latest rows hidden; `None` for a random split.
        drop: Columns to leave out: ids, and whatever is known only after the target.
        hidden_share: Share of the rows to hide, above 0 and at most 0.9.
        seed: Draws another split, other ids and another order.
        measure: Whether to measure plain solutions as references; otherwise the sample
            submission is the only one.
        allow_leaks: Whether to keep a task of which answers can be read off.
        **description: Fields of `Description`, each with a default.

    Returns:
        The task, loaded from the folder.

    Raises:
        TaskError: If an argument is wrong, the data do not make a task, or it leaks; nothing is
            left behind then.

    Warns:
        LeakWarning: If the task may leak, or does and `allow_leaks` is set.
    """
    place = Path(directory).absolute()
    _check_place(place)
    fields = checked_fields(metric=metric, target=target, time_column=time_column, **description)
    data = checked(frame, fields, drop)
    train, hidden = parts(data, fields, hidden_share, f"{place.name}|{seed}")
    with _draft_beside(place) as draft:
        _write(draft, train, hidden, fields)
        references = _examine(draft, place, measure=measure, allow_leaks=allow_leaks)
        (draft / "task.toml").write_text(to_toml({**fields, **references}), encoding="utf-8")
        draft.rename(place)
    (task,) = load_tasks(str(place))
    assert isinstance(task, TableTask)
    return task


def _check_place(place: Path) -> None:
    if place.exists():
        raise TaskError(f"directory={str(place)!r} exists; name one that does not")
    if not place.parent.is_dir():
        raise TaskError(f"directory={str(place)!r}: {str(place.parent)!r} is not a directory")


@contextmanager
def _draft_beside(place: Path) -> Iterator[Path]:
    """An empty directory that is removed unless it was renamed."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(
    draft: Path, train: pd.DataFrame, hidden: pd.DataFrame, fields: Mapping[str, Any]
) -> None:
    targets = fields["targets"]
    tables = {
        TRAIN: train,
        TEST: hidden.drop(columns=[*targets, USAGE]),
        ANSWERS: hidden[[ID, *targets, USAGE]],
    }
    for name, content in tables.items():
        content.to_csv(draft / name, index=False, lineterminator="\n", encoding="utf-8")
        (draft / name).chmod(0o600 if name == ANSWERS else 0o644)
    (draft / "task.toml").write_text(to_toml(fields), encoding="utf-8")
    (draft / "task.toml").chmod(0o644)
    draft.chmod(0o755)


def _examine(
    draft: Path, place: Path, *, measure: bool, allow_leaks: bool
) -> dict[str, dict[str, float]]:
    """Lint a draft, and measure its references."""
    task = folder.load(draft, str(place))
    prepared = prepare(task)
    try:
        _judge(lint(task), allow_leaks)
        if measure:
            return {"references": measure_baselines(task)}
        _ = task.references[SAMPLE]  # what cannot be graded now cannot be graded ever
        return {}
    except (GraderError, InvalidSubmissionError) as error:
        raise TaskError(
            f"metric={task.metric!r} cannot be computed on the hidden rows: {error}"
        ) from error
    finally:
        shutil.rmtree(prepared.parent, ignore_errors=True)


def _judge(findings: Sequence[Finding], allow_leaks: bool) -> None:
    errors = [str(finding) for finding in findings if finding.severity is Severity.ERROR]
    if errors and not allow_leaks:
        raise TaskError(
            "\n".join(
                [
                    "this task gives its answers away; leave columns out with drop=[...], or "
                    "keep it with allow_leaks=True:",
                    *errors,
                ]
            )
        )
    for finding in findings:
        if finding.severity is not Severity.NOTE:
            warnings.warn(str(finding), LeakWarning, stacklevel=4)
