"""What an evaluation found, task by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from wmrl_gym.agents.llm.journal import Attempt
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.scoring import position
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.envs.mle.views import (
    AggregateReport,
    CompetitionReport,
    Headline,
    competition_report,
    headline,
)
from wmrl_gym.interchange.trajectories import Trajectory
from wmrl_gym.outcomes import Status

_RESAMPLES = 2000


@dataclass(frozen=True)
class AttemptResult:
    """One finished episode."""

    attempt: Attempt
    score: float
    """By the ladder of the environment, in [0, 1], on the private answers."""
    metric: float | None
    """The task's own, of the submission that was handed in; `None` without a valid one."""
    statuses: Mapping[str, int]
    """How its executions and malformed actions ended, by the names of `Status`."""
    turns: int
    tokens: int
    """That the model wrote; 0 if its server does not tell."""
    seconds_model: float
    """Its share of the wall-clock time of the calls of the model."""
    seconds_executing: float
    """Durations of its executions, summed."""


@dataclass(frozen=True)
class TaskResult:
    """All attempts at one task."""

    task: str
    attempts: Sequence[AttemptResult]
    """At least one, in the order of their numbers."""

    @property
    def scores(self) -> list[float]:
        """`[k]` scores."""
        return [one.score for one in self.attempts]

    @property
    def positions(self) -> list[float]:
        """`[k]` positions among the references or on the leaderboard; 0 without a submission."""
        task = load_task(self.task)
        return [0.0 if one.metric is None else position(task, one.metric) for one in self.attempts]

    @property
    def reports(self) -> list[CompetitionReport]:
        """`[k]` reports of MLE-bench, with medals where the task has a leaderboard.

        They stand on the private answers: the public ones were told to the agent in each turn,
        and it chose by them. `wmrl-gym grade` grades files on all hidden rows, as `mlebench
        grade` does; `wmrl_gym.interchange.handed_in.export_submissions` makes them from episodes.
        """
        return [_report(load_task(self.task), one.metric) for one in self.attempts]

    @property
    def medals(self) -> dict[str, int] | None:
        """How many attempts earned which; `None` for a task without a leaderboard."""
        reports = self.reports
        if reports[0].gold_threshold is None:
            return None
        kinds = ("gold", "silver", "bronze")
        return {kind: sum(getattr(r, f"{kind}_medal") for r in reports) for kind in kinds}

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON."""
        mean, low, high = stratified_mean([self.scores])
        return {
            "attempts": len(self.attempts),
            "scores": self.scores,
            "mean": mean,
            "interval": [low, high],
            "best": max(self.scores),
            "metrics": [one.metric for one in self.attempts],
            "position": float(np.mean(self.positions)),
            "medals": self.medals,
            "statuses": dict(sum((Counter(one.statuses) for one in self.attempts), Counter())),
            "turns": sum(one.turns for one in self.attempts),
            "tokens": sum(one.tokens for one in self.attempts),
            "seconds_model": sum(one.seconds_model for one in self.attempts),
            "seconds_executing": sum(one.seconds_executing for one in self.attempts),
        }


def attempt_result(trajectory: Trajectory) -> AttemptResult:
    """The result of an episode that `AttemptPlayer` recorded."""
    infos = [step.info for step in trajectory.steps]
    statuses = Counter(Status(i["status"]).name.lower() for i in infos if i["status"] in _STATUSES)
    return AttemptResult(
        attempt=Attempt(trajectory.options["task"], trajectory.options["attempt"]),
        score=infos[-1]["score"],
        metric=_handed_in_metric(infos),
        statuses=dict(statuses),
        turns=len(infos),
        tokens=sum(info["llm/tokens"] for info in infos),
        seconds_model=sum(info["llm/seconds"] for info in infos),
        seconds_executing=sum(info.get("execution/seconds", 0.0) for info in infos),
    )


def by_task(results: Iterable[AttemptResult], tasks: Sequence[str]) -> list[TaskResult]:
    """Results of the tasks that have any, in the order of `tasks`."""
    found: dict[str, list[AttemptResult]] = {task: [] for task in tasks}
    for result in sorted(results, key=lambda one: one.attempt):
        found[result.attempt.task].append(result)
    return [TaskResult(task, members) for task, members in found.items() if members]


def stratified_mean(scores: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Mean over tasks of the mean over attempts, and its 95 % bootstrap interval.

    The interval is that of other attempts at the same tasks: attempts are drawn again within
    each task, and tasks are not.

    Args:
        scores: Scores of each task's attempts, at least one of each.
    """
    rng = np.random.default_rng(0)
    means = np.mean([np.mean(one) for one in scores])
    drawn = [rng.choice(np.asarray(one), (_RESAMPLES, len(one))).mean(axis=1) for one in scores]
    low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    return float(means), float(low), float(high)


def any_medal(results: Sequence[TaskResult]) -> Headline | None:
    """MLE-bench's headline over the tasks with a leaderboard; an attempt is a seed.

    `None` if there are no such tasks, or one of them has fewer attempts than another.
    """
    ranked = [one for one in results if one.medals is not None]
    if len({tuple(a.attempt.number for a in one.attempts) for one in ranked}) != 1:
        return None
    seeds = zip(*(one.reports for one in ranked), strict=True)
    return headline([AggregateReport(tuple(reports)) for reports in seeds])


_STATUSES = frozenset(int(status) for status in Status)


def _handed_in_metric(infos: Sequence[Mapping[str, Any]]) -> float | None:
    graded: list[float] = []
    for info in infos:
        if info["submissions"] > len(graded):
            graded.append(info["execution/metric"])
    number: int = infos[-1]["handed_in"]
    return graded[number - 1] if number else None


def _report(task: Task, metric: float | None) -> CompetitionReport:
    return competition_report(
        task.name,
        metric,
        leaderboard=task.leaderboard,
        higher_is_better=task.higher_is_better,
        submission_exists=metric is not None,
        submission_path="",
        created_at=datetime.now(UTC),
    )
