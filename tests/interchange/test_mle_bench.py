"""Files of submissions in, reports out: real files, real tasks, real grading."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.interchange.mle_bench import (
    Submission,
    grade_file,
    grade_submissions,
    read_report,
    read_submissions,
    write_report,
    write_submissions,
)

TASK = "diabetes"
"""Regression, judged by the root mean squared error."""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp("cache")
        patch.setenv("WMRL_GYM_CACHE", str(directory))
        yield directory


def answers(name: str = TASK) -> pd.DataFrame:
    task = load_task(name)
    assert isinstance(task, TableTask)
    return pd.read_csv(task.private / "test.csv")


def constant(path: Path, value: float = 150.0) -> Path:
    """A valid submission that says the same for each row, last row first."""
    frame = answers()[["id"]].assign(progression=value)
    frame.iloc[::-1].to_csv(path, index=False)
    return path


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    return constant(tmp_path / "valid.csv")


@pytest.fixture
def invalid(tmp_path: Path) -> Path:
    path = constant(tmp_path / "invalid.csv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    return path


def test_the_score_is_over_all_hidden_rows(valid: Path) -> None:
    graded = grade_file(load_task(TASK), valid)
    error = answers()["progression"] - 150.0
    assert graded.report.score == round(float(np.sqrt((error**2).mean())), 5)
    assert (graded.report.submission_exists, graded.report.valid_submission) == (True, True)
    assert graded.report.is_lower_better
    assert graded.report.submission_path == str(valid)
    assert abs(datetime.now(UTC) - graded.report.created_at) < timedelta(minutes=5)
    assert graded.invalid == ""


class RankedTask(TableTask):
    """A table with a leaderboard, as an imported competition has."""

    @property
    def leaderboard(self) -> list[float]:
        return [40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 110.0, 120.0, 130.0]


def test_medals_on_a_leaderboard(valid: Path, tmp_path: Path) -> None:
    task = load_task(TASK)
    ranked = RankedTask(**{f.name: getattr(task, f.name) for f in fields(TableTask)})
    found = grade_file(ranked, valid).report  # an error of about 77, fifth of ten
    assert found.gold_threshold == 40.0
    assert found.bronze_threshold == 70.0
    assert (found.any_medal, found.above_median) == (False, True)
    perfect = tmp_path / "perfect.csv"
    answers()[["id", "progression"]].to_csv(perfect, index=False)
    found = grade_file(ranked, perfect).report
    assert (found.score, found.gold_medal, found.silver_medal) == (0.0, True, False)


@pytest.mark.parametrize("path", [None, "nothing.csv", "no-directory/nothing.csv", "valid.csv/x"])
def test_a_missing_file_is_not_an_invalid_one(
    path: str | None, valid: Path, tmp_path: Path
) -> None:
    graded = grade_file(load_task(TASK), None if path is None else tmp_path / path)
    assert (graded.report.submission_exists, graded.report.valid_submission) == (False, False)
    assert (graded.report.score, graded.invalid) == (None, "")


def test_an_invalid_file_is_not_a_missing_one(invalid: Path) -> None:
    graded = grade_file(load_task(TASK), invalid)
    assert (graded.report.submission_exists, graded.report.valid_submission) == (True, False)
    assert graded.report.score is None
    assert "1 missing" in graded.invalid


def _link(path: Path) -> None:
    path.symlink_to(constant(path.parent / "honest.csv"))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * 2**30)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_link, "a symbolic link"),
        (_sparse, "limit"),
        (os.mkfifo, "not a regular file"),
        (os.mkdir, "not a regular file"),
    ],
)
def test_what_is_no_plain_file_is_invalid(
    make: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "submission.csv"
    make(path)
    graded = grade_file(load_task(TASK), path)
    assert (graded.report.submission_exists, graded.report.valid_submission) == (True, False)
    assert reason in graded.invalid


def test_a_grader_that_fails_costs_its_own_task_only(
    valid: Path, invalid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))
    broken = load_task("wine-cultivar")
    assert isinstance(broken, TableTask)
    sample = broken.public / "sample_submission.csv"
    (broken.private / "test.csv").write_text("these are no answers\n")
    report = grade_submissions(
        [
            Submission("wine-cultivar", str(sample)),
            Submission(TASK, str(valid)),
            Submission(TASK, str(invalid)),
            Submission(TASK, None),
            Submission(TASK, str(tmp_path / ("x" * 300))),
        ]
    )
    [failed, unreadable] = report.grader_errors
    assert (failed.competition_id, failed.submission_path) == ("wine-cultivar", str(sample))
    assert failed.reason.startswith("grader_error")
    assert "too long" in unreadable.reason
    [refused] = report.invalid_submissions
    assert (refused.submission_path, refused.competition_id) == (str(invalid), TASK)
    found = report.to_dict()
    assert found["total_runs"] == 3
    assert found["total_runs_with_submissions"] == 2
    assert found["total_valid_submissions"] == 1
    assert read_report(write_report(report, tmp_path / "reports")) == report


def test_reading_submissions(tmp_path: Path) -> None:
    path = tmp_path / "submissions.jsonl"
    path.write_text(
        '{"competition_id": "diabetes", "submission_path": "a.csv", "logs_path": "a.log"}\n'
        "\n"
        "# a comment\n"
        "  // another\n"
        '{"competition_id": "wine-cultivar", "submission_path": null, "code_path": null}\r\n'
        '{"competition_id": "diabetes", "submission_path": "b.csv", "seed": 3}'
    )
    assert read_submissions(path) == [
        Submission("diabetes", "a.csv", logs_path="a.log"),
        Submission("wine-cultivar", None),
        Submission("diabetes", "b.csv"),
    ]


GOOD = '{"competition_id": "diabetes", "submission_path": "a.csv"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "must be a JSON object"),
        ('{"submission_path": "a.csv"}', "must have competition_id"),
        ('{"competition_id": "diabetes"}', "must have submission_path"),
        ('{"competition_id": null, "submission_path": "a.csv"}', "competition_id=None"),
        ('{"competition_id": 3, "submission_path": "a.csv"}', "competition_id=3"),
        ('{"competition_id": "diabetes", "submission_path": 3}', "submission_path=3"),
        (r'{"competition_id": "diabetes", "submission_path": "a\u0000"}', "NUL"),
        ('{"competition_id": "no-such-task", "submission_path": "a.csv"}', "no-such-task"),
        ("\udcff", "decode"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_graded(
    line: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "submissions.jsonl"
    text = f"{GOOD}\n\n{line}\n{GOOD}\n"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=f"line 3 of {path}: .*{message}"):
        read_submissions(path)


@pytest.mark.parametrize("text", ["", "\n# nothing\n"])
def test_a_file_without_submissions(text: str, tmp_path: Path) -> None:
    path = tmp_path / "submissions.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match="at least one submission"):
        read_submissions(path)
    with pytest.raises(ValueError, match="No such file"):
        read_submissions(tmp_path / "other.jsonl")


def test_submissions_survive_writing(tmp_path: Path) -> None:
    submissions = [Submission(TASK, "ä.csv", "a.log", "main.py"), Submission(TASK, None)]
    path = tmp_path / "submissions.jsonl"
    write_submissions(path, submissions)
    assert read_submissions(path) == submissions
    first = json.loads(path.read_text().splitlines()[0])
    assert first["competition_id"] == TASK
    assert list(first) == ["competition_id", "submission_path", "logs_path", "code_path"]


def test_no_report_overwrites_another(valid: Path, tmp_path: Path) -> None:
    report = grade_submissions([Submission(TASK, str(valid))])
    directory = tmp_path / "deep" / "reports"
    paths = {write_report(report, directory) for _ in range(3)}
    assert len(paths) == 3
    assert all(path.name.endswith("_grading_report.json") for path in paths)
    assert set(directory.iterdir()) == paths


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"competition_reports": [{}]}'])
def test_what_is_no_report(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is not a grading report"):
        read_report(path)
