"""DSBench, its data-modelling tasks: three trees in step, and a program for each competition.

data_modeling/data/data_resplit/<name>/    train.csv, test.csv, sample_submission.csv
                  /answers/<name>/test_answer.csv
                  /task/<name>.txt         the description
             /evaluation/<name>_eval.py
             /data.json                    one competition a line
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.reading import directories, read_text
from wmrl_gym.errors import TaskError

NAME = "dsbench"
"""What users call this layout."""
_DATA = (Path("."), Path("data"), Path("data_modeling", "data"))
_EVALUATION = (Path("evaluation"), Path("..", "evaluation"), Path("."))
_SUBMISSION_COLUMNS_COME_FROM = ("sample_submission", "sample_solution", "sampleSubmission")


@dataclass(frozen=True)
class _Competition:
    """Where the files of a competition are."""

    name: str
    data: Path
    """Directory with data_resplit, answers and task."""

    @property
    def public(self) -> Path:
        return self.data / "data_resplit" / self.name

    @property
    def answers(self) -> Path:
        return self.data / "answers" / self.name / "test_answer.csv"


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The competitions that have data and answers; one, if the directory is that of its data."""
    if directory.parent.name == "data_resplit":
        found = [_Competition(directory.name, directory.parents[1])]
    else:
        found = [
            _Competition(path.name, directory / place)
            for place in _DATA
            for path in directories(directory / place / "data_resplit")
        ]
    if not found:
        return "no directory data_resplit, in it or in its data"
    complete = [competition for competition in found if competition.answers.is_file()]
    if not complete:
        return f"no {found[0].answers} beside data_resplit"
    return {competition.name: partial(_load, competition, options) for competition in complete}


def _load(competition: _Competition, options: ImportOptions, name: str) -> ImportedTask:
    """Load a competition.

    Raises:
        TaskError: If it has no evaluator or no sample submission, or the answers are a pointer.
    """
    evaluator = _evaluator(competition, options)
    sample = _sample(competition)
    for file in (competition.answers, sample):
        refuse_pointer(file)
    about = _about(evaluator.parent.parent / "data.json", competition.name)
    text = competition.data / "task" / f"{competition.name}.txt"
    return ImportedTask(
        name=name,
        title=competition.name,
        layout=NAME,
        describe=partial(read_text, text),
        files=PublicFiles({"": competition.public}, frozenset([competition.answers, evaluator])),
        grading=ForeignGrading(
            caller="dsbench",
            rules={"program": "evaluator.py", "competition": competition.name},
            answers=competition.answers,
            sample=sample,
            files={"evaluator.py": evaluator},
            wall_s=options.grading_s,
        ),
        metric=options.metric or "score",
        options=options,
        definitions=[evaluator],
        data=[competition.public, competition.answers],
        origin=str(about.get("url") or f"https://www.kaggle.com/c/{competition.name}"),
        licence="rules of the competition; DSBench allows non-commercial use",
    )


def _evaluator(competition: _Competition, options: ImportOptions) -> Path:
    name = f"{competition.name}_eval.py"
    roots = [competition.data] if options.definitions is None else [options.definitions]
    paths = [(root / place / name).resolve() for root in roots for place in _EVALUATION]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise TaskError(
            f"there is no evaluator {name} in {paths[0].parent} or {paths[1].parent}; name its "
            "directory, data_modeling/evaluation of a clone of DSBench, by --definitions"
        )
    return found


def _sample(competition: _Competition) -> Path:
    """The sample submission, whatever its name, as it varies."""
    files = sorted(competition.public.glob("*.csv"))
    for prefix in _SUBMISSION_COLUMNS_COME_FROM:
        for path in files:
            if path.name.startswith(prefix):
                return path
    raise TaskError(
        f"{competition.public} has no sample submission (a CSV file whose name begins with "
        f"{' or '.join(_SUBMISSION_COLUMNS_COME_FROM)})"
    )


def _about(path: Path, name: str) -> Mapping[str, Any]:
    """The line of data.json about a competition; lines are Python literals, and never run."""
    if not path.is_file():
        return {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = ast.literal_eval(line.strip())
        except (SyntaxError, ValueError):
            continue
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    return {}
