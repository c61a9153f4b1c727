"""MLE-bench's reports, field for field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from wmrl_gym.envs.mle.views.comparison import finite
from wmrl_gym.envs.mle.views.medals import award, medal_thresholds

DIGITS = 5
"""MLE-bench rounds scores to this many decimals before it ranks them."""


@dataclass(frozen=True, kw_only=True)
class CompetitionReport:
    """What one submission reached. Built by `competition_report`."""

    competition_id: str
    score: float | None
    """The metric, rounded; `None` without a valid submission."""
    gold_threshold: float | None
    """Score to reach; `None`, like the next three, for a task without a leaderboard."""
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    """Whether there was a file to grade; tells a missing submission from an invalid one."""
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON, with `created_at` in ISO 8601."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}

    @classmethod
    def from_dict(cls, report: Mapping[str, Any]) -> CompetitionReport:
        """A report from its JSON, whoever wrote it.

        Raises:
            ValueError: If a field is missing.
        """
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in report]
        if missing:
            raise ValueError(f"a competition report must have the fields {', '.join(missing)}")
        created_at = datetime.fromisoformat(report["created_at"])
        return cls(**{**{name: report[name] for name in names}, "created_at": created_at})


def competition_report(
    competition_id: str,
    score: float | None,
    *,
    leaderboard: Sequence[float],
    higher_is_better: bool,
    submission_exists: bool,
    submission_path: str,
    created_at: datetime,
) -> CompetitionReport:
    """The report of one graded submission.

    Args:
        competition_id: Name of the task.
        score: The metric; `None` without a valid submission.
        leaderboard: `[N]` scores of all teams, in any order; empty for a task that has none,
            whose thresholds are `None` and where nothing earns a medal.
        higher_is_better: Direction of the metric.
        submission_exists: Whether there was a file to grade.
        submission_path: Where it is.
        created_at: When it was graded.

    Raises:
        ValueError: If a number is NaN or infinite, or a score comes without a submission.
    """
    if score is not None and not submission_exists:
        raise ValueError(f"score={score} needs submission_exists=True")
    rounded = None if score is None else round(finite("score", score), DIGITS)
    standing = _standing(rounded, leaderboard, higher_is_better=higher_is_better)
    return CompetitionReport(
        competition_id=competition_id,
        score=rounded,
        **standing,
        submission_exists=submission_exists,
        valid_submission=rounded is not None,
        is_lower_better=not higher_is_better,
        created_at=created_at,
        submission_path=submission_path,
    )


def _standing(
    score: float | None, leaderboard: Sequence[float], *, higher_is_better: bool
) -> dict[str, Any]:
    """Thresholds and medals, by the names of the report's fields."""
    tiers = ("gold", "silver", "bronze", "median")
    medals = ("any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median")
    if len(leaderboard) == 0:
        return {f"{tier}_threshold": None for tier in tiers} | dict.fromkeys(medals, False)
    thresholds = medal_thresholds(leaderboard, higher_is_better=higher_is_better)
    earned = award(score, thresholds)
    return {f"{tier}_threshold": getattr(thresholds, tier) for tier in tiers} | {
        medal: getattr(earned, medal) for medal in medals
    }


@dataclass(frozen=True)
class SubmissionProblem:
    """Why a submission has no score."""

    competition_id: str
    submission_path: str
    reason: str


@dataclass(frozen=True)
class AggregateReport:
    """What a set of submissions reached, such as all tasks with one seed."""

    competition_reports: tuple[CompetitionReport, ...]
    grader_errors: tuple[SubmissionProblem, ...] = ()
    """What *we* failed to grade: neither valid nor invalid, without a report, in no total."""
    invalid_submissions: tuple[SubmissionProblem, ...] = ()
    """Why the invalid ones among `competition_reports` are invalid."""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON: MLE-bench's fields, then the two lists of problems."""
        reports = self.competition_reports
        return {
            "total_runs": len(reports),
            "total_runs_with_submissions": sum(report.submission_exists for report in reports),
            "total_valid_submissions": sum(report.valid_submission for report in reports),
            "total_medals": sum(report.any_medal for report in reports),
            "total_gold_medals": sum(report.gold_medal for report in reports),
            "total_silver_medals": sum(report.silver_medal for report in reports),
            "total_bronze_medals": sum(report.bronze_medal for report in reports),
            "total_above_median": sum(report.above_median for report in reports),
            "competition_reports": [report.to_dict() for report in reports],
            "grader_errors": [asdict(problem) for problem in self.grader_errors],
            "invalid_submissions": [asdict(problem) for problem in self.invalid_submissions],
        }

    @classmethod
    def from_dict(cls, report: Mapping[str, Any]) -> AggregateReport:
        """A report from its JSON; one that MLE-bench wrote lists no problems.

        Raises:
            ValueError: If a field is missing.
        """
        if "competition_reports" not in report:
            raise ValueError("an aggregate report must have the field competition_reports")
        return cls(
            tuple(CompetitionReport.from_dict(one) for one in report["competition_reports"]),
            *(
                tuple(SubmissionProblem(**problem) for problem in report.get(name, ()))
                for name in ("grader_errors", "invalid_submissions")
            ),
        )
