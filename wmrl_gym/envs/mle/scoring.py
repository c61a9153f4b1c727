"""From a metric to a position among reference solutions.

Metrics have different units, directions and ranges. A position says the same on every task:
where a solution stands among references that were really run, such as a linear model and a
forest, in the way that a rank on a leaderboard does, but without its steps.
"""

from __future__ import annotations

import numpy as np

from wmrl_gym.envs.mle.task import Task
from wmrl_gym.envs.mle.views.position import position_score
from wmrl_gym.errors import TaskError

BEST_REFERENCE = 0.8
"""Position of the best reference; what is above is head-room."""
REMAINING_ERROR = 0.5
"""Position 1 is where this share is left of the best reference's distance to the optimum."""


def position(task: Task, metric: float) -> float:
    """Where a value of the task's metric stands among the references.

    On a leaderboard it is the share of its places that the value reaches (see
    `wmrl_gym.envs.mle.views.position`). Else the distinct values of the references, from worst
    to best, get evenly spaced positions from 0 to 0.8. Between two of them the position is
    linear in the metric, so that every improvement counts. Above the best it goes on, linearly,
    to 1, which is reached where half of the best reference's distance to the metric's optimum
    is left; with a single reference, at the optimum; without a known optimum, after a quarter
    of the way that the references span. What is worse than the worst reference gets 0. The
    position never falls with a better metric.

    Args:
        task: The task, with a leaderboard or enough references.
        metric: A finite value of its metric.

    Returns:
        A number in [0, 1]; 1 for a perfect submission.

    Raises:
        TaskError: If the task has too few references.
    """
    if task.leaderboard:
        return position_score(
            metric, private=task.leaderboard, higher_is_better=task.higher_is_better
        )
    sign = 1.0 if task.higher_is_better else -1.0
    # A set: two references with one value are one step, and the position stays continuous.
    board = sorted({sign * value for value in task.references.values()})
    optimum = None if task.optimum is None else sign * task.optimum
    return float(np.interp(sign * metric, *_scale(task, board, optimum)))


def _scale(
    task: Task, board: list[float], optimum: float | None
) -> tuple[list[float], list[float]]:
    """Values, rising, and the positions that they have."""
    if optimum is not None and len(board) == 1 and board[0] < optimum:
        return [board[0], optimum], [0.0, 1.0]
    if len(board) < 2:
        raise TaskError(
            f"task {task.name!r} has references={dict(task.references)}; a position needs two "
            "different values, or one and the metric's optimum"
        )
    steps = np.linspace(0.0, BEST_REFERENCE, len(board)).tolist()
    best = board[-1]
    if optimum is None:
        return [*board, best + (best - board[0]) / 4], [*steps, 1.0]
    if best < optimum:
        return [*board, optimum - REMAINING_ERROR * (optimum - best)], [*steps, 1.0]
    return board, [*steps[:-1], 1.0]  # nothing is left above a perfect reference
