"""Grades a Python file by a program of MLGym that imports it."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.grading.guest.parts import blame, finite, seed
from wmrl_gym.envs.mle.grading.guest.programs import new_place, number_in, run_program, workspace
from wmrl_gym.envs.mle.grading.guest.submitted_script import STAND_IN, running
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values


def grade_script(rules: Mapping[str, Any], submission: Path) -> Values:
    """Grade a Python file.

    The program and what was submitted run in processes of their own (see `script_process`):
    where the program imports the submission, it gets functions that call the other process.
    Arguments can be anything that can be pickled; results are plain values.

    Args:
        rules: As of `MLGymProgram`; `submission`, the name that the program imports; `shown`,
            paths of the starter files that a submission may read; `seconds` that it has;
            `subject`, `submission`, or `sample` for the starter code's.
        submission: The submitted file.

    Raises:
        InvalidSubmissionError: If the program works with the starter code but not with this.
    """
    if rules["subject"] in ("answers", "shuffled"):
        raise ValueError("there are no answers that could be graded")
    value = _value(rules) if rules["subject"] == "sample" else _blaming(rules, submission)
    return Values(private=value, public=None, all=value)


def _blaming(rules: Mapping[str, Any], submission: Path) -> float:
    try:
        return _value(rules, submission)
    except InvalidSubmissionError:
        raise
    except Exception as error:
        try:
            _value(rules)
        except Exception:
            raise error from None
        raise InvalidSubmissionError(blame(error)) from error


def _value(rules: Mapping[str, Any], submission: Path | None = None) -> float:
    """The number for a submitted file, or for the starter code's."""
    script = _script(rules, submission)
    hidden = [Path.cwd(), *map(Path, (*rules["starter"], *rules["datasets"]))]
    # Before anything of the task is read, since the process of the script is a fork of this one.
    with running(script, seconds=rules["seconds"], hidden=hidden) as process:
        seed(_secret_number(rules, script))
        place = workspace(rules)
        stand_in = place / script.name
        stand_in.unlink(missing_ok=True)
        stand_in.write_text(STAND_IN, encoding="utf-8")
        sys.modules.pop(script.stem, None)
        said = run_program(place / rules["program"], [], place)
        if process.fault:  # and the program made do
            raise InvalidSubmissionError(process.fault)
    return finite(number_in(said, rules["number"]))


def _secret_number(rules: Mapping[str, Any], script: Path) -> int:
    """The same for the same submission, but nothing that it could know: some files are hidden.

    A script that knew it could foretell what the program draws at random.
    """
    files = [path for path in map(Path, rules["starter"]) if path.is_file()]
    digest = hashlib.blake2b(digest_size=4)
    for path in (*files, script):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest(), "big")


def _script(rules: Mapping[str, Any], submission: Path | None) -> Path:
    """The script, beside copies of what it may read."""
    place = new_place()
    for path in map(Path, rules["shown"]):
        shutil.copyfile(path, place / path.name)
    script = place / str(rules["submission"])
    if submission is not None:
        shutil.copyfile(submission, script)
    return script
