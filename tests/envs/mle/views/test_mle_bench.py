"""Reports, field for field."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from wmrl_gym.envs.mle.views import (
    AggregateReport,
    CompetitionReport,
    SubmissionProblem,
    competition_report,
)

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BOARD = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]


def report(
    competition: str = "toy", score: float | None = 0.9, **changed: Any
) -> CompetitionReport:
    facts: dict[str, Any] = {
        "leaderboard": BOARD,
        "higher_is_better": True,
        "submission_exists": True,
        "submission_path": "runs/1/submission.csv",
        "created_at": WHEN,
    }
    return competition_report(competition, score, **{**facts, **changed})


def test_every_field_of_a_report() -> None:
    single: Any = np.float32(0.8123456)  # what many graders return
    found = report(score=single).to_dict()
    assert found == {
        "competition_id": "toy",
        "score": 0.81235,
        "gold_threshold": 0.9,
        "silver_threshold": 0.8,
        "bronze_threshold": 0.6,
        "median_threshold": 0.45,
        "any_medal": True,
        "gold_medal": False,
        "silver_medal": True,
        "bronze_medal": False,
        "above_median": True,
        "submission_exists": True,
        "valid_submission": True,
        "is_lower_better": False,
        "created_at": "2026-01-02T03:04:05+00:00",
        "submission_path": "runs/1/submission.csv",
    }
    assert {type(value) for value in found.values()} == {str, float, bool}


def test_scores_are_rounded_before_they_are_ranked() -> None:
    assert report(score=0.899996).gold_medal
    assert not report(score=0.899994).gold_medal


def test_missing_and_invalid_differ() -> None:
    invalid, missing = report(score=None), report(score=None, submission_exists=False)
    assert (invalid.submission_exists, invalid.valid_submission) == (True, False)
    assert (missing.submission_exists, missing.valid_submission) == (False, False)
    for one in (invalid, missing):
        assert one.score is None
        assert not one.any_medal
        assert not one.above_median
        assert one.gold_threshold == 0.9
    with pytest.raises(ValueError, match="submission_exists=True"):
        report(score=0.5, submission_exists=False)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_score_that_is_no_number_is_neither_valid_nor_gold(
    score: float, higher_is_better: bool
) -> None:
    with pytest.raises(ValueError, match="score="):
        report(score=score, higher_is_better=higher_is_better)


def test_the_direction_is_stated_not_guessed() -> None:
    # All scores equal: the order of a leaderboard says nothing.
    equal = report(score=0.4, leaderboard=[0.5, 0.5], higher_is_better=False)
    assert equal.is_lower_better
    assert equal.gold_medal
    assert not report(score=0.4, leaderboard=[0.5, 0.5]).any_medal


def test_a_task_without_a_leaderboard_has_no_medals() -> None:
    found = report(score=0.99, leaderboard=[])
    assert found.valid_submission
    assert found.gold_threshold is None
    assert found.median_threshold is None
    assert not found.any_medal
    assert not found.above_median


def test_reports_survive_json() -> None:
    original = AggregateReport(
        (report(), report("other", None)),
        (SubmissionProblem("third", "x.csv", "it crashed"),),
        (SubmissionProblem("other", "y.csv", "the file is empty"),),
    )
    assert AggregateReport.from_dict(json.loads(json.dumps(original.to_dict()))) == original
    foreign = original.to_dict()
    del foreign["grader_errors"], foreign["invalid_submissions"]
    assert AggregateReport.from_dict(foreign).grader_errors == ()


def test_broken_reports_name_what_is_missing() -> None:
    with pytest.raises(ValueError, match="competition_reports"):
        AggregateReport.from_dict({})
    incomplete = report().to_dict()
    del incomplete["any_medal"]
    with pytest.raises(ValueError, match="any_medal"):
        CompetitionReport.from_dict(incomplete)


def test_totals() -> None:
    reports = (
        report("a", 0.95),
        report("b", 0.8),
        report("c", 0.6),
        report("d", 0.5),
        report("e", 0.0),
        report("f", None),
        report("g", None, submission_exists=False),
    )
    found = AggregateReport(reports, (SubmissionProblem("h", "h.csv", "it crashed"),)).to_dict()
    totals = {name: value for name, value in found.items() if name.startswith("total")}
    assert totals == {
        "total_runs": 7,
        "total_runs_with_submissions": 6,
        "total_valid_submissions": 5,
        "total_medals": 3,
        "total_gold_medals": 1,
        "total_silver_medals": 1,
        "total_bronze_medals": 1,
        "total_above_median": 4,
    }
    assert {type(total) for total in totals.values()} == {int}
    assert [one["competition_id"] for one in found["competition_reports"]] == list("abcdefg")
    assert found["grader_errors"] == [
        {"competition_id": "h", "submission_path": "h.csv", "reason": "it crashed"}
    ]
