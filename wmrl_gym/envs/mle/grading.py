"""Grading a submission against the hidden answers, outside of any sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.envs.mle.scoring import ladder, position
from wmrl_gym.envs.mle.submissions import InvalidSubmissionError, read_predictions
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.outcomes import Status

__all__ = ["Grade", "InvalidSubmissionError", "evaluate", "grade", "ladder", "position"]


@dataclass(frozen=True)
class Grade:
    """What became of a submission."""

    status: Status
    metric: float | None = None
    """Value of the task's metric, for `COMPLETED`."""
    position: float | None = None
    """Position among the reference solutions, in [0, 1], for `COMPLETED`."""
    reason: str = ""
    """Why the submission is not valid."""

    @property
    def score(self) -> float | None:
        """The rung of the score ladder, in [0, 1]; `None` if there is no score."""
        return ladder(self.status, self.position)


def grade(task: Task, submission: bytes | None) -> Grade:
    """Grade a submission.

    Rows are matched by id, whatever their order, and nothing is filled in or left out. The
    probabilities of a row are divided by their sum before the log loss is taken.

    Args:
        task: The task, prepared if need be.
        submission: Content of the submitted file; `None` if there is none.

    Returns:
        `NO_RESULT` for `None`, `INVALID_RESULT` with the reason, or `COMPLETED` with metric
        and position. Any other failure is ours, not the submission's, and raises.
    """
    if submission is None:
        return Grade(Status.NO_RESULT, reason="there is no submission")
    try:
        metric = evaluate(task, submission)
    except InvalidSubmissionError as error:
        return Grade(Status.INVALID_RESULT, reason=str(error))
    return Grade(Status.COMPLETED, metric=metric, position=position(task, metric))


def evaluate(task: Task, submission: bytes) -> float:
    """The metric of a submission on the hidden answers; needs no references.

    Args:
        task: The task, prepared if need be.
        submission: Content of the submitted file.

    Returns:
        The value of `task.metric`, in its own unit and direction.

    Raises:
        InvalidSubmissionError: If the submission breaks the rules of the task.
    """
    ids, answers = _answers(task)
    predictions = read_predictions(task, submission, ids)
    return METRICS[task.metric].compute(answers, predictions, task.classes)


def _answers(task: Task) -> tuple[list[str], NDArray[Any]]:
    """Ids of the hidden rows, and their labels (str) or values (float64)."""
    path = task.private / "test.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    answers = np.array(frame[task.target].tolist())
    return frame[task.id_column].tolist(), answers if task.classes else answers.astype(float)
