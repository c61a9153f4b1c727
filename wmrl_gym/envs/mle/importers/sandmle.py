"""SandMLE: one directory for a task, in which answers and evaluator lie among the public files.

    <root>/<task>/prepared/public/    description.md, train.csv, test.csv, sample_submission.csv
                                      evaluator.py and answer.csv, which no agent may see

The evaluator says which way is better, and thresholds of medals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.imported import LOWER_IS_BETTER, ImportedTask
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.reading import directories, existing, read_text

NAME = "sandmle"
"""What users call this layout."""
_PUBLIC = Path("prepared", "public")
_EVALUATOR, _ANSWERS, _SAMPLE = "evaluator.py", "answer.csv", "sample_submission.csv"
_PRINTED = (
    LOWER_IS_BETTER,
    "gold_threshold",
    "silver_threshold",
    "bronze_threshold",
    "median_threshold",
)


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The tasks with an evaluator; one, if the directory is that of a task."""
    tasks = [directory] if _is_task(directory) else list(filter(_is_task, directories(directory)))
    if not tasks:
        return f"no {_PUBLIC / _EVALUATOR} with {_ANSWERS}, and no directory with both in it"
    return {task.name: partial(_load, task / _PUBLIC, options) for task in tasks}


def _is_task(path: Path) -> bool:
    return all((path / _PUBLIC / name).is_file() for name in (_EVALUATOR, _ANSWERS))


def _load(public: Path, options: ImportOptions, name: str) -> ImportedTask:
    """Load a task.

    Raises:
        TaskError: If there is no sample submission, or the answers are a pointer.
    """
    evaluator, answers = public / _EVALUATOR, public / _ANSWERS
    sample = existing(public / _SAMPLE, "sample submission")
    for file in (answers, sample):
        refuse_pointer(file)
    return ImportedTask(
        name=name,
        title=public.parents[1].name,
        layout=NAME,
        describe=partial(read_text, public / "description.md"),
        files=PublicFiles({"": public}, frozenset([evaluator, answers])),
        grading=ForeignGrading(
            caller="sandmle",
            rules={
                "program": _EVALUATOR,
                "program_name": _EVALUATOR,
                "answers_name": _ANSWERS,
                "task": "../task",
                "number": "score",
            },
            answers=answers,
            sample=sample,
            data={"task": public},
            files={_EVALUATOR: evaluator},
            wall_s=options.grading_s,
        ),
        metric=options.metric or "score",
        options=options,
        definitions=[evaluator],
        data=[public],
        facts=_PRINTED,
        origin="SandMLE",
    )
