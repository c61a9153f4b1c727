"""The tables of a study: arms side by side, paired by seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.benchmark.arms import SWEEPS, dial_of
from wmrl_gym.benchmark.results import ArmResult, StudyError, require_comparable
from wmrl_gym.benchmark.statistics import (
    Interval,
    improvement_interval,
    interquartile_mean,
    mean_gain,
    paired_interval,
    ratio_of_means,
    stratified_interval,
)

Array = NDArray[np.float64]
SMOOTHED = 5
"""Batches in the running mean of a training curve."""


@dataclass(frozen=True)
class ArmRow:
    """One arm against the reference, over the seeds that both have finished."""

    arm: str
    seeds: tuple[int, ...]
    score: Interval
    """Interquartile mean of the true score over seeds and the tasks trained on."""
    held_out: Interval | None
    """The same over held-out tasks; `None` if there are none."""
    executions: Interval
    seconds: Interval
    core_seconds: Interval
    gain: Interval | None
    """Mean difference from the reference on the tasks trained on, paired by seed."""
    held_out_gain: Interval | None
    improvement: Interval | None
    """Probability of improvement over the reference."""
    speedup: Interval | None
    """Wall-clock of the reference over this arm's, for the same number of groups."""
    rank_correlation: float | None
    """Within-group rank correlation of the world model on anchors, mean over training; `None` if
    it was not measured."""
    speedup_at_equal_score: float | None
    """How much longer the reference takes to get as far as this arm gets; `None` if it never
    does, which makes it larger than `speedup` says."""


def compare(results: Sequence[ArmResult], *, reference: str) -> list[ArmRow]:
    """Compare every arm with a reference.

    Args:
        results: Of one scenario.
        reference: Name of the arm that the others are compared with.

    Returns:
        A row for each arm, in the order in which they first appear.

    Raises:
        StudyError: If the arms cannot be compared, or the reference is missing.
    """
    require_comparable(results)
    arms = by_arm(results)
    if reference not in arms:
        raise StudyError(f"reference={reference!r} has no result; there are {sorted(arms)}")
    return [_row(arm, of, arms[reference], reference) for arm, of in arms.items()]


def by_arm(results: Sequence[ArmResult]) -> dict[str, dict[int, ArmResult]]:
    """Results by arm and seed."""
    arms: dict[str, dict[int, ArmResult]] = defaultdict(dict)
    for result in results:
        arms[result.arm][result.seed] = result
    return dict(arms)


def score_table(results: Sequence[ArmResult], *, held_out: bool) -> Array:
    """`[R, T]` true scores: a row for each result, a column for each task in sorted order."""
    return np.array(
        [[score for _, score in sorted(r.scores(held_out=held_out).items())] for r in results]
    )


def time_to_reach(result: ArmResult, score: float) -> float:
    """Seconds until the smoothed training curve first reaches `score`; NaN if it never does.

    Only for arms that execute every group, whose training scores are true ones.
    """
    curve = np.array(result.curve["score"], dtype=np.float64)
    if len(curve) < SMOOTHED:
        return float("nan")
    smooth = running_mean(curve)
    reached = np.flatnonzero(smooth >= score)
    return float(result.curve["seconds"][reached[0] + SMOOTHED - 1]) if reached.size else np.nan


def running_mean(values: Array) -> Array:
    """`[N]` -> `[N - SMOOTHED + 1]`, each the mean up to there; `[1]` if there are fewer."""
    window = min(SMOOTHED, len(values))
    return np.convolve(values, np.ones(window) / window, mode="valid")


def _row(
    arm: str, of: Mapping[int, ArmResult], reference: Mapping[int, ArmResult], name: str
) -> ArmRow:
    results = list(of.values())
    seeds = sorted(of.keys() & reference.keys())
    pairs = [(of[seed], reference[seed]) for seed in seeds]
    compared = arm != name and bool(pairs)
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    held_out = bool(results[0].held_out)

    def cost(read: Callable[[ArmResult], float]) -> Interval:
        return stratified_interval(mean_of, [[read(r)] for r in results])

    def gain(held_out: bool) -> Interval | None:
        if not compared or not score_table(ours, held_out=held_out).size:
            return None
        tables = (score_table(side, held_out=held_out) for side in (ours, theirs))
        return paired_interval(mean_gain, *tables)

    return ArmRow(
        arm=arm,
        seeds=tuple(sorted(of)),
        score=stratified_interval(interquartile_mean, score_table(results, held_out=False)),
        held_out=stratified_interval(interquartile_mean, score_table(results, held_out=True))
        if held_out
        else None,
        executions=cost(lambda r: r.executions),
        seconds=cost(lambda r: r.seconds),
        core_seconds=cost(lambda r: r.core_seconds),
        gain=gain(False),
        held_out_gain=gain(True),
        improvement=_improvement(results, list(reference.values())) if compared else None,
        speedup=_speedup(ours, theirs) if compared else None,
        rank_correlation=_rank_correlation(results),
        speedup_at_equal_score=_speedup_at_equal_score(pairs) if compared else None,
    )


def sweep_points(
    rows: Sequence[ArmRow],
) -> dict[str, dict[str, list[tuple[float, Interval]]]]:
    """By dial and arm, the values of the dial with the score at each, in rising order.

    Where a dial spoils the world model, the rank correlation that came of it takes the place of
    the value.
    """
    dialled = [(row, dial) for row in rows if (dial := dial_of(row.arm)) is not None]
    quality = {
        (name, value): row.rank_correlation
        for row, (_, name, value) in dialled
        if row.rank_correlation is not None and SWEEPS[name].by_quality
    }
    found: dict[str, dict[str, list[tuple[float, Interval]]]] = {}
    for row, (arm, name, value) in dialled:
        if SWEEPS[name].by_quality and (name, value) not in quality:
            continue  # no arm had anchors there
        point = (quality.get((name, value), value), row.score)
        found.setdefault(name, {}).setdefault(arm, []).append(point)
    return {
        name: {arm: sorted(points, key=lambda point: point[0]) for arm, points in arms.items()}
        for name, arms in found.items()
    }


def mean_of(values: Array) -> float:
    """Mean of a `[R, 1]` table."""
    return float(values.mean())


def _rank_correlation(results: Sequence[ArmResult]) -> float | None:
    curves = [r.curve["rank_correlation"] for r in results if "rank_correlation" in r.curve]
    return float(np.nanmean(curves)) if curves else None


def _improvement(ours: Sequence[ArmResult], theirs: Sequence[ArmResult]) -> Interval:
    return improvement_interval(
        score_table(ours, held_out=False), score_table(theirs, held_out=False)
    )


def _speedup(ours: Sequence[ArmResult], theirs: Sequence[ArmResult]) -> Interval:
    return paired_interval(
        ratio_of_means, [[r.seconds] for r in theirs], [[r.seconds] for r in ours]
    )


def _speedup_at_equal_score(pairs: Sequence[tuple[ArmResult, ArmResult]]) -> float | None:
    ratios = [
        time_to_reach(reference, float(np.mean(list(ours.scores(held_out=False).values()))))
        / ours.seconds
        for ours, reference in pairs
    ]
    return None if np.isnan(ratios).any() else float(np.mean(ratios))


def markdown(rows: Sequence[ArmRow]) -> str:
    """The table as Markdown; a gain in bold if its interval excludes 0."""
    head = (
        "arm",
        "seeds",
        "true score",
        "held out",
        "gain",
        "gain, held out",
        "real executions",
        "wall-clock s",
        "core s",
        "faster",
        "faster at equal score",
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines.extend("| " + " | ".join(_cells(row)) + " |" for row in rows)
    return "\n".join(lines)


def _cells(row: ArmRow) -> list[str]:
    equal = row.speedup_at_equal_score
    return [
        row.arm,
        str(len(row.seeds)),
        str(row.score),
        "" if row.held_out is None else str(row.held_out),
        _signed(row.gain),
        _signed(row.held_out_gain),
        f"{row.executions.estimate:.0f}",
        f"{row.seconds.estimate:.0f}",
        f"{row.core_seconds.estimate:.0f}",
        "" if row.speedup is None else f"{row.speedup.estimate:.1f}×",
        ("not reached" if row.gain is not None else "") if equal is None else f"{equal:.1f}×",
    ]


def _signed(gain: Interval | None) -> str:
    if gain is None:
        return ""
    text = f"{gain.estimate:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
    return f"**{text}**" if gain.excludes_zero else text
