"""Which files a grader reads answers from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wmrl_gym.envs.mle.task import Grader


def answer_files(grader: Grader) -> Mapping[str, Path]:
    """The files of answers, by the name that the grader has for them.

    A grader says in its rule `answers` which file that is, sent or in a directory of its data;
    of one that does not, all files but code are.
    """
    named = grader.rules.get("answers")
    if named is None:
        return {name: path for name, path in grader.files.items() if path.suffix != ".py"}
    directory, _, file = str(named).removeprefix("../").partition("/")
    if named in grader.files:
        return {named: grader.files[named]}
    return {named: grader.data[directory] / file} if directory in grader.data else {}
