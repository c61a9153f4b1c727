"""What became of a submission."""

from __future__ import annotations

from dataclasses import dataclass

from wmrl_gym.envs.mle.grading.evaluation import GraderError, GraderFault, evaluate
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError
from wmrl_gym.envs.mle.ladder import ladder
from wmrl_gym.envs.mle.scoring import position
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.outcomes import Status
from wmrl_gym.sandboxes import Sandbox


@dataclass(frozen=True)
class Grade:
    """What became of a submission."""

    status: Status
    metric: float | None = None
    """The metric on the private rows, which decide the score; for `COMPLETED`."""
    public_metric: float | None = None
    """The metric on the public rows, which the agent is shown; `None` if there are none."""
    metric_all: float | None = None
    """The metric on all hidden rows: what the reports of benchmarks use."""
    position: float | None = None
    """Position that `metric` takes among the references, in [0, 1]."""
    public_position: float | None = None
    """Position that `public_metric` takes, in [0, 1]."""
    reason: str = ""
    """Why the submission is not valid, or what the grader failed at."""
    fault: GraderFault | None = None
    """What kind of failure of ours it was, for `UNSCORED`."""

    @property
    def score(self) -> float | None:
        """The rung of the score ladder, in [0, 1]; `None` if there is no score."""
        return ladder(self.status, self.position)

    @property
    def public_score(self) -> float | None:
        """The rung by the public rows alone, where there are any."""
        return None if self.public_position is None else ladder(self.status, self.public_position)


def grade(task: Task, submission: bytes | None, sandbox: Sandbox | None = None) -> Grade:
    """Grade a submission.

    Rows are matched by id, whatever their order, and nothing is filled in or left out.

    Args:
        task: The task, prepared if need be.
        submission: Content of the submitted file; `None` if there is none.
        sandbox: Where the grader runs; `None` for the best back end that works here.

    Returns:
        `NO_RESULT` for `None`; `INVALID_RESULT` with the reason; `UNSCORED` with the fault if
        the grader failed; or `COMPLETED` with metrics and positions.

    Raises:
        TaskError: If the task has no data, or no references to score by.
    """
    if submission is None:
        return Grade(Status.NO_RESULT, reason="there is no submission")
    try:
        values = evaluate(task.grader, submission, sandbox)
    except InvalidSubmissionError as error:
        return Grade(Status.INVALID_RESULT, reason=str(error))
    except GraderError as error:
        return Grade(Status.UNSCORED, reason=str(error), fault=error.fault)
    return Grade(
        Status.COMPLETED,
        metric=values.private,
        public_metric=values.public,
        metric_all=values.all,
        position=position(task, values.private),
        public_position=None if values.public is None else position(task, values.public),
    )
