"""MLE-bench's headline: the percentage of competitions with any medal, over seeds."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from wmrl_gym.envs.mle.views.mle_bench import AggregateReport, CompetitionReport


@dataclass(frozen=True)
class Headline:
    """Percentage of competitions with any medal, over seeds."""

    mean: float
    """Mean over the seeds, in [0, 100]."""
    standard_error: float | None
    """Of the mean, from the sample standard deviation (n - 1); `None` with one seed."""
    seeds: int


def headline(
    seeds: Sequence[AggregateReport], *, competitions: Collection[str] | None = None
) -> Headline:
    """Any-medal percentage: mean and standard error over seeds.

    Args:
        seeds: `[S]` one report for each seed, with one run of each competition.
        competitions: What to take the percentage over. A competition without a run counts as
            one without a medal; what is not named is left out. By default those that were
            run, which have to be the same in all seeds. A run that could not be graded is
            left out of its seed.

    Raises:
        ValueError: If there is no seed; if a seed has two runs of a competition, none to
            count, or one without a leaderboard, where there are no medals; or if the seeds
            differ and `competitions` is not given.
    """
    if not seeds:
        raise ValueError("seeds=[] must have at least one report")
    runs = [_runs(report) for report in seeds]
    if competitions is None and any(set(one) != set(runs[0]) for one in runs):
        raise ValueError(
            "the seeds have run different competitions; competitions=[...] says which to count"
        )
    counted = set(runs[0] if competitions is None else competitions)
    percentages = [_percentage(one, counted) for one in runs]
    deviation = statistics.stdev(percentages) if len(percentages) > 1 else None
    return Headline(
        mean=statistics.fmean(percentages),
        standard_error=None if deviation is None else deviation / math.sqrt(len(percentages)),
        seeds=len(percentages),
    )


def _runs(report: AggregateReport) -> dict[str, CompetitionReport | None]:
    """The run of each competition; `None` if it could not be graded."""
    graded = [(one.competition_id, one) for one in report.competition_reports]
    failed = [(error.competition_id, None) for error in report.grader_errors]
    times = Counter(name for name, _ in [*graded, *failed])
    repeated = sorted(name for name, count in times.items() if count > 1)
    if repeated:
        raise ValueError(
            f"a seed has several runs of {', '.join(repeated)}; give one report for each seed"
        )
    return dict([*graded, *failed])


def _percentage(
    runs: Mapping[str, CompetitionReport | None], competitions: Collection[str]
) -> float:
    graded = [runs[name] for name in competitions if name in runs]
    medals = [_any_medal(run) for run in graded if run is not None]
    total = len(competitions) - graded.count(None)
    if not total:
        raise ValueError("a seed has no graded competition to count")
    return 100 * sum(medals) / total


def _any_medal(run: CompetitionReport) -> bool:
    if run.gold_threshold is None:
        raise ValueError(f"competition {run.competition_id!r} has no leaderboard and no medals")
    return run.any_medal
