"""Runs graders that are programs: those of DSBench, MLGym and SandMLE.

Each run has a directory of its own, in which the files of the task are links. A program that
gets an answers file as an argument, or finds it by its name, is run on parts of the rows too.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import runpy
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.grading.guest.parts import Part

_MLGYM_WORKSPACE = "/home/agent/workspace"
"""Where MLGym's containers have the files; its evaluators name it."""
_run_number = itertools.count()


class DSBenchProgram:
    """`evaluation/<name>_eval.py`, which writes a number to a file.

    Args:
        rules: `program` and `answers`, paths; `competition`, its name.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self._program = Path(rules["program"]).resolve()
        self._answers = Path(rules["answers"]).resolve()
        self._name = rules["competition"]

    def __call__(self, part: Part) -> float:
        """The metric on `part`."""
        place = new_place()
        (place / self._name).mkdir()
        part.submission.to_csv(place / "predictions.csv", index=False)
        arguments = {
            "answer_file": _answers_of(part, self._answers, place / "answers.csv"),
            "predict_file": place / "predictions.csv",
            "path": place,
            "name": self._name,
        }
        run_program(self._program, [f"--{k}={v}" for k, v in arguments.items()], place)
        return float((place / self._name / "result.txt").read_text())


class SandMLEProgram:
    """`evaluator.py`, which finds `answer.csv` beside it and prints JSON.

    Args:
        rules: `task`, the directory of its files; `program` and `answers`, paths; `number`, the
            name of what to take from the JSON.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self._task = Path(rules["task"]).resolve()
        self._program = Path(rules["program"]).resolve()
        self._answers = Path(rules["answers"]).resolve()
        self._names = (rules["program_name"], rules["answers_name"])
        self._number = rules["number"]

    def __call__(self, part: Part) -> Any:
        """The metric on `part`."""
        place = new_place()
        program, answers = (place / name for name in self._names)
        shutil.copyfile(self._program, program)  # not a link, so that it finds its neighbours
        shutil.copyfile(_answers_of(part, self._answers, place / "part.csv"), answers)
        _link_missing(self._task, place)
        submitted = place / "submitted.csv"
        part.submission.to_csv(submitted, index=False)
        said = run_program(program, ["--submission_path", str(submitted)], place)
        return number_in(said, self._number)


class MLGymProgram:
    """The evaluation script of a task of MLGym, which prints JSON; it sees whole files only.

    Args:
        rules: `program`, its path in the workspace; `starter` and `datasets`, paths of what the
            workspace holds; `number`, the metric.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self._rules = rules

    def __call__(self, part: Part) -> Any:
        """The metric on all rows."""
        place = workspace(self._rules)
        submitted = place / "submission.csv"
        submitted.unlink(missing_ok=True)
        part.submission.to_csv(submitted, index=False)
        program = place / self._rules["program"]
        said = run_program(program, ["--submission_file", str(submitted)], place)
        return number_in(said, self._rules["number"])


def run_program(program: Path, arguments: Sequence[str], place: Path) -> str:
    """Run a Python program in this process, which has the libraries loaded, and give its output.

    Raises:
        RuntimeError: If it ends with an exit code other than 0.
    """
    said = io.StringIO()
    argv, path, here = sys.argv, list(sys.path), Path.cwd()
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.parent))
    os.chdir(place)
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(program), run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise RuntimeError(f"the grader ended with exit code {error.code}") from error
    finally:
        sys.argv, sys.path[:] = argv, path
        os.chdir(here)
    return said.getvalue()


def number_in(said: str, name: str) -> Any:
    """A number in the JSON object that a program printed, whatever stands before and after it.

    Raises:
        ValueError: If there is no such object, or no such number in it.
    """
    start, end = said.find("{"), said.rfind("}")
    if start < 0 or end < start:
        raise ValueError("the grader printed no JSON object")
    numbers = json.loads(said[start : end + 1])
    if not isinstance(numbers, dict) or numbers.get(name) is None:
        raise ValueError(f"the grader printed no number {name!r}")
    return numbers[name]


def workspace(rules: Mapping[str, Any]) -> Path:
    """The files of a task of MLGym, laid out as in its containers."""
    place = new_place()
    for path in map(Path, rules["starter"]):
        (place / path.name).symlink_to(path.resolve())
    (place / "data").mkdir(exist_ok=True)
    for path in map(Path, rules["datasets"]):
        # Evaluators find the files of a data set in either place.
        _link_missing(path.resolve(), place / "data")
        if not os.path.lexists(place / "data" / path.name):
            (place / "data" / path.name).symlink_to(path.resolve())
    program = place / rules["program"]
    if program.parent == place:
        source = program.read_text(encoding="utf-8")
        program.unlink()  # a link
        program.write_text(source.replace(_MLGYM_WORKSPACE, str(place)), encoding="utf-8")
    return place


def _answers_of(part: Part, answers: Path, place: Path) -> Path:
    """The answers to a part of the rows, in a file with the same text in its cells."""
    if part.rows is None:
        return answers
    cells = pd.read_csv(answers, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    cells[part.rows].to_csv(place, index=False)
    return place


def _link_missing(source: Path, place: Path) -> None:
    """Link all entries of a directory that `place` has none of the name of."""
    for entry in source.iterdir():
        if not os.path.lexists(place / entry.name):
            (place / entry.name).symlink_to(entry)


def new_place() -> Path:
    """A fresh directory."""
    place = Path.cwd() / f"run-{next(_run_number)}"
    place.mkdir()
    return place.resolve()
