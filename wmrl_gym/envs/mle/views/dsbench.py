"""DSBench's relative performance gap: how much of the way from a baseline to the best."""

from __future__ import annotations

from collections.abc import Sequence

from wmrl_gym.envs.mle.views.comparison import better, finite


def performance_gap(
    score: float | None, *, baseline: float, ground_truth: float, higher_is_better: bool
) -> float:
    """The gap of one task: max(0, (score - baseline) / (ground truth - baseline)).

    Args:
        score: The metric; `None` without a valid submission, which gets 0.
        baseline: Metric of the baseline; in DSBench, of the original sample submission.
        ground_truth: Metric of the answers themselves.
        higher_is_better: Direction of the metric.

    Returns:
        0 at the baseline or below, 1 at the ground truth; more only beyond that.

    Raises:
        ValueError: If the ground truth is not better than the baseline, or a number is NaN
            or infinite.
    """
    start, end = finite("baseline", baseline), finite("ground_truth", ground_truth)
    if not better(end, start, higher_is_better=higher_is_better):
        raise ValueError(
            f"ground_truth={end} must be better than baseline={start}; "
            f"higher_is_better={higher_is_better} may be wrong"
        )
    if score is None:
        return 0.0
    return max(0.0, (finite("score", score) - start) / (end - start))


def relative_performance_gap(gaps: Sequence[float]) -> float:
    """DSBench's headline: the mean gap over all tasks, those without a submission included.

    Args:
        gaps: `[T]` value of `performance_gap` for each task.

    Raises:
        ValueError: If there are none, or one is NaN, infinite or negative.
    """
    values = [finite(f"gaps[{index}]", gap) for index, gap in enumerate(gaps)]
    if not values or min(values) < 0:
        raise ValueError(f"gaps={gaps!r} must be one number of at least 0 for each task")
    return sum(values) / len(values)
