"""How long importing takes. Run: `python benchmarks/import_tasks.py`.

Makes a directory in the layout of MLE-bench with 75 competitions, and prints the time to load
all of them by its path (target: below 2 s in total), in a process that has just started, and
what the first and the following gradings of one of them cost.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.catalog import load_tasks
from wmrl_gym.envs.mle.grading import grade

COMPETITIONS = 75
ROWS = 2000
TEAMS = 1000
GRADINGS = 10
CONFIG = """\
id: {name}
name: Competition {name}
competition_type: simple
description: mlebench/competitions/{name}/description.md
dataset:
  answers: {name}/prepared/private/test.csv
  sample_submission: {name}/prepared/public/sample_submission.csv
grader:
  name: rmse
  grade_fn: mlebench.competitions.{name}.grade:grade
"""
GRADE = """\
import numpy as np

def grade(submission, answers):
    return np.sqrt(((submission["y"] - answers["y"]) ** 2).mean())
"""


def write(root: Path, name: str) -> None:
    """Write one competition: its data and its definition."""
    definition, prepared = (
        root / "mlebench" / "competitions" / name,
        root / "data" / name / "prepared",
    )
    for directory in (definition, prepared / "public", prepared / "private"):
        directory.mkdir(parents=True)
    (definition / "config.yaml").write_text(CONFIG.format(name=name))
    (definition / "grade.py").write_text(GRADE)
    (definition / "description.md").write_text(f"# {name}\n")
    board = pd.DataFrame({"score": [n / TEAMS for n in range(TEAMS)]})
    board.to_csv(definition / "leaderboard.csv", index=False)
    rows = pd.DataFrame({"id": range(ROWS), "x": range(ROWS), "y": [n % 7 for n in range(ROWS)]})
    rows.to_csv(prepared / "public" / "train.csv", index=False)
    rows[["id", "x"]].to_csv(prepared / "public" / "test.csv", index=False)
    rows[["id", "y"]].to_csv(prepared / "private" / "test.csv", index=False)
    rows[["id"]].assign(y=3.0).to_csv(prepared / "public" / "sample_submission.csv", index=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for number in range(COMPETITIONS):
            write(Path(directory), f"task-number-{number:02d}")
        start = time.perf_counter()
        tasks = load_tasks(str(Path(directory, "data")))
        seconds = time.perf_counter() - start
        print(f"{len(tasks)} tasks loaded in {seconds:.2f} s")
        task = tasks[0]
        sample = (task.public / "sample_submission.csv").read_bytes()
        times = []
        for _ in range(GRADINGS):
            start = time.perf_counter()
            grade(task, sample)
            times.append(time.perf_counter() - start)
        print(f"first grading {times[0]:.2f} s, further ones {statistics.median(times[1:]):.2f} s")
        if seconds >= 2.0:
            sys.exit("loading takes 2 s or more")


if __name__ == "__main__":
    main()
