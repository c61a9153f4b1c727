"""Loading and grading as the environment does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.grading import Grade, grade
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, find_tasks


def load(directory: Path, member: str | None = None, **options: Any) -> ImportedTask:
    """The task of a directory, or the one of that name."""
    found = find_tasks(directory, ImportOptions(**options))
    name = member or next(iter(found.tasks))
    task = found.tasks[name](f"{directory}::{name}")
    assert isinstance(task, ImportedTask)
    return task


def graded(task: ImportedTask, submission: pd.DataFrame | bytes) -> Grade:
    """What becomes of a submission."""
    return grade(task, submission if isinstance(submission, bytes) else encode(submission))


def encode(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def shown(task: ImportedTask) -> set[str]:
    """The files that agents see."""
    return {str(p.relative_to(task.public)) for p in task.public.rglob("*") if p.is_file()}
