"""Submissions and reports in the shape of `mlebench grade`.

A file of submissions has one JSON object a line, with `competition_id`, `submission_path` and
optionally `logs_path` and `code_path`; empty lines and lines that begin with `#` or `//` are
skipped. Grading is ours: strict, over all hidden rows, in a sandbox.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import InvalidSubmissionError, evaluate
from wmrl_gym.envs.mle.grading.guest.submissions import MAX_BYTES
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.envs.mle.views.mle_bench import (
    AggregateReport,
    CompetitionReport,
    SubmissionProblem,
    competition_report,
)
from wmrl_gym.errors import SandboxUnavailableError, WMRLError
from wmrl_gym.sandboxes import Sandbox
from wmrl_gym.sandboxes.guest.collect import SkippedError, open_output


@dataclass(frozen=True)
class Submission:
    """One line of a file of submissions."""

    competition_id: str
    """Name of the task, or the path of one."""
    submission_path: str | None
    """File to grade; `None` where an agent left none."""
    logs_path: str | None = None
    code_path: str | None = None


_FIELDS = tuple(field.name for field in fields(Submission))


@dataclass(frozen=True)
class GradedFile:
    """What grading one file gave."""

    report: CompetitionReport
    invalid: str = ""
    """Why the submission is invalid; empty for a valid or a missing one."""


def read_submissions(path: Path) -> list[Submission]:
    """The submissions that a file lists. Their tasks are looked up, nothing is graded.

    Raises:
        ValueError: If the file cannot be read, is empty, or a line of it is not as it should
            be; the message has the number of the line.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ValueError(f"submission={path} cannot be read: {error.strerror}") from error
    submissions = list(_parse(path, lines))
    if not submissions:
        raise ValueError(f"submission={path} must have at least one submission")
    return submissions


def write_submissions(path: Path, submissions: Iterable[Submission]) -> None:
    """Write submissions for `mlebench grade`, or for `read_submissions`."""
    lines = [json.dumps(asdict(submission)) + "\n" for submission in submissions]
    path.write_text("".join(lines), encoding="utf-8")


def grade_file(task: Task, path: Path | None, *, sandbox: Sandbox | None = None) -> GradedFile:
    """Grade one file.

    Args:
        task: The task.
        path: The submission; `None`, or the path of nothing, is a missing one. What is not a
            plain file, such as a symbolic link, is invalid.
        sandbox: Where the grader runs; `None` for the best back end that works here.

    Raises:
        GraderError: If the grader failed.
        OSError: If the file system does.
        TaskError: If the data of the task cannot be prepared.
    """
    score, invalid, exists = None, "", True
    try:
        content = None if path is None else _content(path)
        if content is None:
            exists = False
        else:
            score = evaluate(task.grader, content, sandbox).all
    except InvalidSubmissionError as error:
        invalid = str(error)
    report = competition_report(
        task.name,
        score,
        leaderboard=task.leaderboard,
        higher_is_better=task.higher_is_better,
        submission_exists=exists,
        submission_path="" if path is None else str(path),
        created_at=datetime.now(UTC),
    )
    return GradedFile(report, invalid)


def grade_submissions(
    submissions: Iterable[Submission], *, sandbox: Sandbox | None = None
) -> AggregateReport:
    """Grade submissions, one after the other.

    A grader that fails costs its own task only: the submission is listed in `grader_errors`.

    Args:
        submissions: What to grade.
        sandbox: Where the graders run; `None` for the best back end that works here.

    Raises:
        SandboxUnavailableError: If no sandbox works.
    """
    reports: list[CompetitionReport] = []
    errors: list[SubmissionProblem] = []
    invalid: list[SubmissionProblem] = []
    for one in submissions:
        path = None if one.submission_path is None else Path(one.submission_path)
        try:
            graded = grade_file(load_task(one.competition_id), path, sandbox=sandbox)
        except SandboxUnavailableError:
            raise
        except (WMRLError, ValueError, OSError) as error:
            errors.append(_problem(one, str(error)))
            continue
        reports.append(replace(graded.report, competition_id=one.competition_id))
        if graded.invalid:
            invalid.append(_problem(one, graded.invalid))
    return AggregateReport(tuple(reports), tuple(errors), tuple(invalid))


def write_report(report: AggregateReport, output_dir: Path) -> Path:
    """Write a report to `<output_dir>/<timestamp>_grading_report.json`.

    Returns:
        Where it is. No earlier report is overwritten.
    """
    output_dir.mkdir(parents=True, exist_ok=True)
    timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
    path = output_dir / f"{timestamp}_grading_report.json"
    text = json.dumps(report.to_dict(), indent=2, allow_nan=False) + "\n"
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    return path


def read_report(path: Path) -> AggregateReport:
    """Read a report that `write_report` or `mlebench grade` wrote.

    Raises:
        ValueError: If it is not one.
    """
    try:
        return AggregateReport.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a grading report: {error}") from error


def _parse(path: Path, lines: Iterable[bytes]) -> Iterator[Submission]:
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith((b"#", b"//")):
            continue
        try:
            submission = _submission(json.loads(line))
            load_task(submission.competition_id)
        except (WMRLError, ValueError) as error:
            raise ValueError(f"line {number} of {path}: {error}") from error
        yield submission


def _submission(line: Any) -> Submission:
    if not isinstance(line, dict):
        raise ValueError("it must be a JSON object")
    missing = {"competition_id", "submission_path"} - set(line)
    if missing:
        raise ValueError(f"it must have {', '.join(sorted(missing))}")
    named = {name: line[name] for name in _FIELDS if line.get(name) is not None}
    for name, value in named.items():
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"{name}={value!r} must be a string without NUL")
    if "competition_id" not in named:
        raise ValueError("competition_id=None must be a string")
    return Submission(**{"submission_path": None, **named})


def _content(path: Path) -> bytes | None:
    """The submitted bytes; `None` if there is nothing at that path."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        descriptor = open_output(directory, path.name, MAX_BYTES + 1)
    except SkippedError as reason:
        raise InvalidSubmissionError(f"it is not a plain file to read: {reason}") from reason
    finally:
        os.close(directory)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _problem(submission: Submission, reason: str) -> SubmissionProblem:
    return SubmissionProblem(submission.competition_id, submission.submission_path or "", reason)
