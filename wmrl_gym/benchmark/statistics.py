"""Statistics of few runs over several tasks.

The definitions are those of "Deep Reinforcement Learning at the Edge of the Statistical
Precipice" (Agarwal et al., 2021) and of its library rliable: the interquartile mean, the
probability of improvement and performance profiles, with stratified bootstrap intervals. Scores
are an array `[R, T]`: R runs (seeds), T tasks. A bootstrap sample draws R runs with replacement
from each task on its own (the strata), except where two arms are paired by seed: there it draws
whole runs, the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import FloatArray

RESAMPLES = 2000
"""Bootstrap samples; the quantiles of an interval move by about a fiftieth of its width."""


class Interval(NamedTuple):
    """An estimate with its bootstrap interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """Like `0.853 [0.840, 0.871]`."""
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def excludes_zero(self) -> bool:
        """Whether all of the interval lies on one side of 0."""
        return self.low > 0.0 or self.high < 0.0


def interquartile_mean(scores: npt.ArrayLike) -> float:
    """Return the mean of the middle half of all `[...]` scores.

    A quarter of the runs, rounded down, is cut off at each end (a trimmed mean), so that one
    lucky or failed run does not decide, and half of all runs still counts.

    Examples:
        >>> interquartile_mean([[0.0, 0.4], [0.6, 9.0]])
        0.5
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64), axis=None)
    if not ordered.size:
        return float("nan")
    cut = ordered.size // 4
    return float(ordered[cut : ordered.size - cut].mean())


def mean(scores: npt.ArrayLike) -> float:
    """Return the mean of all `[...]` scores."""
    return float(np.mean(np.asarray(scores, dtype=np.float64)))


def probability_of_improvement(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> float:
    """Return how probably a run of ours beats a run of theirs on a task drawn at random.

    Args:
        ours: `[R, T]` scores.
        theirs: `[Q, T]` scores on the same tasks.

    Returns:
        The Mann-Whitney statistic over R Q, averaged over tasks; a tie counts one half.
    """
    ours, theirs = _table("ours", ours), _table("theirs", theirs)
    _require_same_tasks(ours, theirs)
    wins = ours[:, None, :] > theirs[None, :, :]
    ties = ours[:, None, :] == theirs[None, :, :]
    return float((wins + 0.5 * ties).mean())


def performance_profile(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> FloatArray:
    """Return the share of runs above each threshold, over all tasks.

    Args:
        scores: `[R, T]` scores.
        thresholds: `[K]` scores.

    Returns:
        `[K]` float64 in [0, 1], not increasing.
    """
    table = _table("scores", scores)
    levels = np.asarray(thresholds, dtype=np.float64)
    profile: FloatArray = (table[None, :, :] > levels[:, None, None]).mean(axis=(1, 2))
    return profile


def stratified_interval(
    statistic: Callable[[FloatArray], float],
    scores: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return `statistic` of `[R, T]` scores with its percentile interval.

    Args:
        statistic: Of an array `[R, T]`.
        scores: `[R, T]` scores.
        confidence: Of the interval, in (0, 1).
        resamples: Bootstrap samples.
        seed: Of the resampling.

    Raises:
        ValueError: If the scores are no table, or contain NaN.
    """
    table = _table("scores", scores)
    rng = np.random.default_rng(seed)
    runs, tasks = table.shape
    column = np.arange(tasks)
    samples = [
        statistic(table[rng.integers(runs, size=(runs, tasks)), column]) for _ in range(resamples)
    ]
    return _interval(statistic(table), samples, confidence)


def improvement_interval(
    ours: npt.ArrayLike,
    theirs: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return `probability_of_improvement` with its interval; both arms are resampled apart."""
    ours, theirs = _table("ours", ours), _table("theirs", theirs)
    _require_same_tasks(ours, theirs)
    rng = np.random.default_rng(seed)
    column = np.arange(ours.shape[1])
    samples = [
        probability_of_improvement(
            ours[rng.integers(len(ours), size=ours.shape), column],
            theirs[rng.integers(len(theirs), size=theirs.shape), column],
        )
        for _ in range(resamples)
    ]
    return _interval(probability_of_improvement(ours, theirs), samples, confidence)


def paired_interval(
    statistic: Callable[[FloatArray, FloatArray], float],
    ours: npt.ArrayLike,
    theirs: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a statistic of two arms whose rows belong together (the same seeds).

    Args:
        statistic: Of two arrays `[R, T]`, for instance `mean_gain` or `ratio_of_means`.
        ours: `[R, T]` scores or costs.
        theirs: `[R, T]` of the same seeds, in the same order.
        confidence: Of the interval, in (0, 1).
        resamples: Bootstrap samples.
        seed: Of the resampling.

    Raises:
        ValueError: If the shapes differ.
    """
    ours, theirs = _table("ours", ours), _table("theirs", theirs)
    if ours.shape != theirs.shape:
        raise ValueError(f"paired arms need one shape, got {ours.shape} and {theirs.shape}")
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(resamples):
        drawn = rng.integers(len(ours), size=len(ours))
        samples.append(statistic(ours[drawn], theirs[drawn]))
    return _interval(statistic(ours, theirs), samples, confidence)


def mean_gain(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the mean difference of two arms `[R, T]`."""
    return float(np.mean(ours - theirs))


def ratio_of_means(ours: FloatArray, theirs: FloatArray) -> float:
    """Return how many times as large ours is, both `[R, T]`; NaN where theirs is 0."""
    below = float(np.mean(theirs))
    return float(np.mean(ours)) / below if below else float("nan")


def _interval(estimate: float, samples: list[float], confidence: float) -> Interval:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie in (0, 1)")
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(samples, [tail, 1.0 - tail])
    return Interval(float(estimate), float(low), float(high))


def _table(name: str, scores: npt.ArrayLike) -> FloatArray:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} has the shape {table.shape}; it must be runs x tasks, not empty")
    if np.isnan(table).any():
        raise ValueError(f"{name} contains NaN: leave out runs that are not complete")
    return table


def _require_same_tasks(ours: FloatArray, theirs: FloatArray) -> None:
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError(
            f"ours has {ours.shape[1]} tasks, theirs {theirs.shape[1]}: compare the same tasks"
        )
