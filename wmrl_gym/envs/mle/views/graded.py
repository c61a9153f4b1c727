"""Views whose facts an imported task knows itself, applied to what became of a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wmrl_gym.envs.mle.views.dsbench import performance_gap
from wmrl_gym.envs.mle.views.medals import MedalThresholds
from wmrl_gym.envs.mle.views.sandmle import milestone_reward, sparse_milestone_reward
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Status

if TYPE_CHECKING:
    from wmrl_gym.envs.mle.grading import Grade
    from wmrl_gym.envs.mle.task import Task

_SAMPLE = "sample submission"
_MEDALS = ("gold", "silver", "bronze", "median")


def graded_performance_gap(task: Task, graded: Grade) -> float | None:
    """DSBench's performance gap of a submission.

    The baseline is the sample submission, the ground truth the task's optimum, and all three
    are on the private rows: where a task has no public ones, that is all rows, as in DSBench.

    Args:
        task: A task that knows the metric of its sample submission, and its optimum.
        graded: What became of the submission.

    Returns:
        A number from 0 on; `None` if it could not be graded, through no fault of its own.

    Raises:
        TaskError: If the task does not know the two.
    """
    if task.optimum is None or _SAMPLE not in task.references:
        raise TaskError(
            f"task {task.name!r} has references={dict(task.references)} and optimum="
            f"{task.optimum}; a performance gap needs {_SAMPLE!r} and an optimum"
        )
    if graded.status is Status.UNSCORED:
        return None
    return performance_gap(
        graded.metric,
        baseline=task.references[_SAMPLE],
        ground_truth=task.optimum,
        higher_is_better=task.higher_is_better,
    )


def graded_milestone_reward(
    task: Task, graded: Grade, *, format_rate: float, sparse: bool = False
) -> float | None:
    """SandMLE's milestone reward of a submission, by the metric on all hidden rows.

    Args:
        task: A task whose references are the thresholds of medals.
        graded: What became of the submission.
        format_rate: Share of the agent's turns in the expected format, in [0, 1].
        sparse: Whether gold alone counts, and the format.

    Returns:
        A number in [0, 1]; `None` for what SandMLE leaves out of training: a script that ran
        out of time, and a submission that could not be graded.

    Raises:
        TaskError: If the task does not know the thresholds.
        ValueError: If `format_rate` is out of bounds.
    """
    missing = [name for name in _MEDALS if name not in task.references]
    if missing:
        raise TaskError(f"task {task.name!r} has no threshold for {', '.join(missing)}")
    if graded.status in (Status.UNSCORED, Status.TIMED_OUT):
        return None
    thresholds = MedalThresholds(
        **{name: task.references[name] for name in _MEDALS}, higher_is_better=task.higher_is_better
    )
    reward = sparse_milestone_reward if sparse else milestone_reward
    return reward(graded.metric_all, thresholds=thresholds, format_rate=format_rate)
