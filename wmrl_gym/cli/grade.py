"""`wmrl-gym grade` and `wmrl-gym grade-sample`: as in MLE-bench, with strict grading."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import track

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.errors import WMRLError
from wmrl_gym.interchange.mle_bench import (
    grade_file,
    grade_submissions,
    read_submissions,
    write_report,
)


@dataclass(frozen=True)
class Grade:
    """Grade the submissions that a JSONL file lists, and write one report."""

    submission: Path
    """File with `competition_id` and `submission_path` in each line."""
    output_dir: Path
    """Where the report goes."""

    def __call__(self) -> None:
        """Grade, print the totals and the problems, write the report.

        Raises:
            WMRLError: If a submission could not be graded; the report is written all the same.
        """
        submissions = read_submissions(self.submission)
        _make_directory(self.output_dir)
        progress = track(submissions, "grading", console=Console(stderr=True), transient=True)
        report = grade_submissions(progress)
        path = write_report(report, self.output_dir)
        totals = report.to_dict()
        del totals["competition_reports"]
        print(json.dumps(totals, indent=2))
        print(f"report: {path}")
        if report.grader_errors:
            raise WMRLError(
                f"{len(report.grader_errors)} of {len(submissions)} submissions could not be "
                f"graded, through no fault of theirs; see grader_errors in {path}"
            )


@dataclass(frozen=True)
class GradeSample:
    """Grade one submission, and print its report."""

    submission: Annotated[Path, tyro.conf.Positional]
    """The submitted file."""
    task: Annotated[str, tyro.conf.Positional]
    """Name of the task."""

    def __call__(self) -> None:
        """Print the report as JSON, with why it is invalid in `reason`."""
        task = load_task(self.task)
        try:
            graded = grade_file(task, self.submission)
        except OSError as error:
            raise ValueError(f"submission={self.submission}: {error.strerror}") from error
        print(json.dumps({**graded.report.to_dict(), "reason": graded.invalid}, indent=2))


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"output_dir={path} cannot be made: {error.strerror}") from error
