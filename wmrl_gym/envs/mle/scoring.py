"""From a metric to a position among reference solutions, and from there to a score.

Metrics have different units, directions and ranges. A position says the same on every task:
where a solution stands among references that were really run, such as a linear model and a
forest, in the way that a rank on a leaderboard does, but without its steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Status

if TYPE_CHECKING:
    from wmrl_gym.envs.mle.task import Task

BEST_REFERENCE = 0.8
"""Position of the best reference; what is above is head-room."""
REMAINING_ERROR = 0.5
"""Position 1 is where this share is left of the best reference's distance to the optimum."""

_RUNGS = {
    Status.MALFORMED: 0.0,
    Status.CRASHED: 0.1,
    Status.TIMED_OUT: 0.1,
    Status.OUT_OF_MEMORY: 0.1,
    Status.NO_RESULT: 0.2,
    Status.INVALID_RESULT: 0.2,
}


def position(task: Task, metric: float) -> float:
    """Where a value of the task's metric stands among the references.

    The distinct values of the references, from worst to best, get evenly spaced positions
    from 0 to 0.8. Between two of them the position is linear in the metric, so that every
    improvement counts. Above the best it goes on, linearly, to 1, which is reached where half
    of the best reference's distance to the metric's optimum is left. What is worse than the
    worst reference gets 0. The position is continuous and never falls with a better metric.

    Args:
        task: The task, with at least two different values among its references.
        metric: A finite value of its metric.

    Returns:
        A number in [0, 1]; 1 for a perfect submission.

    Raises:
        TaskError: If the task has too few references.
    """
    rule = METRICS[task.metric]
    sign = 1.0 if rule.higher_is_better else -1.0
    # A set: two references with one value are one step, and the position stays continuous.
    board = sorted({sign * value for value in task.references.values()})
    if len(board) < 2:
        raise TaskError(
            f"task {task.name!r} has references={dict(task.references)}; a position needs "
            "two different values"
        )
    best, optimum = board[-1], sign * rule.optimum
    steps = np.linspace(0.0, BEST_REFERENCE, len(board)).tolist()
    if best < optimum:
        board.append(optimum - REMAINING_ERROR * (optimum - best))
        steps.append(1.0)
    else:  # nothing is left above a perfect reference
        steps[-1] = 1.0
    return float(np.interp(sign * metric, board, steps))


def ladder(status: Status, position: float | None = None) -> float | None:
    """The score of an outcome, by the ladder of the paper (arXiv 2608.12564, section 4.1).

    Args:
        status: How the execution ended.
        position: Position in [0, 1]; needed for `COMPLETED`, without effect otherwise.

    Returns:
        0 where there was nothing to run, 0.1 for a crash, timeout or memory limit, 0.2 for a
        run without a valid result, 0.5 + 0.5 `position` for a valid result, `None` for
        `UNSCORED`.

    Raises:
        ValueError: If a completed outcome comes without a position in [0, 1].
    """
    if status is Status.UNSCORED:
        return None
    if status is not Status.COMPLETED:
        return _RUNGS[status]
    if position is None or not 0.0 <= position <= 1.0:
        raise ValueError(f"position={position!r} of a completed outcome has to be in [0, 1]")
    return 0.5 + 0.5 * position
