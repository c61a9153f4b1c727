"""Measures what plain reference solutions reach on the built-in tasks, and how long they take.

    python -m benchmarks.reference_scores                    # print a table
    python -m benchmarks.reference_scores wine-cultivar      # only these tasks
    python -m benchmarks.reference_scores --write            # put the numbers into the catalogue

Each reference is fitted on the public part and graded on the private rows, the way that any
submission is, for the task as it is and for its small size.
"""

from __future__ import annotations

import argparse
import re
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

import wmrl_gym.envs.mle.catalog as catalog
from benchmarks.reference_solutions import names, solve
from wmrl_gym.envs.mle.grading import evaluate
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.envs.mle.task import Task

DIGITS = 5


class Measured(NamedTuple):
    """What the references of a task reach, by name."""

    scores: dict[str, float]
    """The metric on the private rows, rounded to 5 digits after the point."""
    seconds: dict[str, float]
    """Processor time to read, fit and predict on one thread, in seconds."""


def measure(task: Task) -> Measured:
    """Solve `task` with each of its references.

    Raises:
        TypeError: If it is not a table.
    """
    if not isinstance(task, TableTask):
        raise TypeError(f"task={task.name!r} is not a table, which the references need")
    task.public  # noqa: B018  # prepared now, so that its time does not count
    scores, seconds = {}, {}
    for name in names(task):
        with threadpool_limits(1):
            start = time.process_time()
            submission = solve(task, name)
            seconds[name] = round(time.process_time() - start, 2)
        scores[name] = round(evaluate(task.grader, submission).private, DIGITS)
    return Measured(scores, seconds)


def write(name: str, whole: Measured, micro: Measured) -> None:
    """Put what was measured into the description of a built-in task."""
    path = Path(catalog.__file__).parent / "tasks" / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    rows = tomllib.loads(text).get("micro", {}).get("rows")
    kept = re.sub(r"\n\[(references|seconds|micro)\]\n(?:[^\[\n].*\n)*", "", text)
    lines = [
        kept.rstrip("\n"),
        *("", "[references]", *_assignments(whole.scores)),
        *("", "[seconds]", *_assignments(whole.seconds)),
        *("", "[micro]", *([f"rows = {rows}"] if rows else [])),
        f"references = {{ {', '.join(_assignments(micro.scores))} }}",
        f"seconds = {{ {', '.join(_assignments(micro.seconds))} }}",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def _assignments(numbers: dict[str, float]) -> list[str]:
    return [f"{name} = {number!r}" for name, number in numbers.items()]


def _print(task: Task, measured: Measured) -> None:
    cells = (
        f"{name} {score:.5g} ({measured.seconds[name]:.1f} s)"
        for name, score in measured.scores.items()
    )
    print(f"{task.name:26} {task.metric:18} {'  '.join(cells)}", flush=True)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tasks", nargs="*", default=catalog.available_task_names())
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.tasks:
        tasks = [catalog.load_task(name), catalog.load_task(name + catalog.MICRO)]
        both = [measure(task) for task in tasks]
        for task, measured in zip(tasks, both, strict=True):
            _print(task, measured)
        if arguments.write:
            write(name, *both)


if __name__ == "__main__":
    main()
