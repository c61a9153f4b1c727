"""The sample submission as the one reference of a task that has no other."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from wmrl_gym.envs.mle.grading.evaluation import GraderError, evaluate
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

SAMPLE = "sample_submission"
"""Name of the reference."""


class SampleReference(Mapping[str, float]):
    """Metric that the sample submission of `task` reaches, graded when somebody asks.

    It is 0 on the scale of positions, whose other end is the optimum of the metric. The result
    is kept beside the files of the prepared task, whose directory has its version.
    """

    task: Task
    """The task; to be set before anybody asks."""

    def __getitem__(self, name: str) -> float:
        if name != SAMPLE:
            raise KeyError(name)
        return self._metric

    def __iter__(self) -> Iterator[str]:
        return iter((SAMPLE,))

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:  # constant: a task's version hashes it
        return "{the sample submission}"

    @cached_property
    def _metric(self) -> float:
        kept = self.task.public.parent.parent / "sample_reference.json"
        if kept.is_file():
            return float(json.loads(kept.read_text(encoding="utf-8")))
        metric = _graded(self.task)
        _write(kept, json.dumps(metric))
        return metric


def _graded(task: Task) -> float:
    sample = (task.public / "sample_submission.csv").read_bytes()
    try:
        return evaluate(task.grader, sample).private
    except (InvalidSubmissionError, GraderError) as error:
        raise TaskError(
            f"the sample submission of task {task.name!r} cannot be graded: {error}"
        ) from error


def _write(path: Path, text: str) -> None:
    """Write a whole file at once, whoever else does the same."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(draft).rename(path)
