"""MLE-Dojo: prepared data, and definitions with a metric class.

    <data>/prepared/<name>/data/public/    description.txt, sample_submission.csv, ...
                               /private/   test_answer.csv, public_ and private_leaderboard.csv
    <definitions>/<name>/info/             description.txt, the two leaderboards
                        /utils/metric.py   a subclass of CompetitionMetrics

Definitions lie in `mledojo/competitions` of a clone; `utils/metric.py` or `metric.py` may also
lie beside the data.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.reading import directories, read_text
from wmrl_gym.errors import TaskError

NAME = "mle-dojo"
"""What users call this layout."""
_REQUIRED = ("public/sample_submission.csv", "private/test_answer.csv")
_METRICS = (Path("utils", "metric.py"), Path("metric.py"))
_BOARDS = ("private_leaderboard.csv", "public_leaderboard.csv")
_DEFINITIONS = (Path("."), Path("competitions"), Path("mledojo", "competitions"))


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The competitions of a directory of prepared data, of one competition or of many."""
    found = _competitions(directory)
    if not found:
        return f"no data/{_REQUIRED[0]} with data/{_REQUIRED[1]}, and no directory with both in it"
    return {path.name: partial(_load, path, options) for path in found}


def _competitions(directory: Path) -> list[Path]:
    """Directories with `data` in it: `directory`, the one above its `data`, or those in it."""
    if _is_competition(directory):
        return [directory]
    if directory.name == "data" and _is_competition(directory.parent):
        return [directory.parent]
    for root in (directory, directory / "prepared", directory / "data" / "prepared"):
        within = [path for path in directories(root) if _is_competition(path)]
        if within:
            return within
    return []


def _is_competition(path: Path) -> bool:
    return all((path / "data" / name).is_file() for name in _REQUIRED)


def _load(directory: Path, options: ImportOptions, name: str) -> ImportedTask:
    """Load a competition.

    Raises:
        TaskError: If there is no metric class, or the answers are a pointer.
    """
    metric = _metric_file(directory, options)
    public, private = directory / "data" / "public", directory / "data" / "private"
    answers, sample = private / "test_answer.csv", public / "sample_submission.csv"
    for file in (answers, sample):
        refuse_pointer(file)
    boards = [_board(board, private, metric) for board in _BOARDS]
    info = metric.parent.parent / "info"
    return ImportedTask(
        name=name,
        title=directory.name,
        layout=NAME,
        describe=partial(read_text, public / "description.txt", info / "description.txt"),
        files=PublicFiles({"": public}, frozenset([answers, metric, *boards])),
        grading=ForeignGrading(
            caller="mle-dojo",
            rules={"definition": "../definition/metric.py"},
            answers=answers,
            sample=sample,
            data={"definition": metric.parent},
            wall_s=options.grading_s,
        ),
        metric=options.metric or "score",
        options=options,
        definitions=[metric],
        data=[directory / "data"],
        boards=boards if boards[1].is_file() else boards[:1],
        declared_direction=_declared_direction(metric),
        origin=f"https://www.kaggle.com/c/{directory.name}",
        licence="rules of the competition; MLE-Dojo allows non-commercial use",
    )


def _metric_file(directory: Path, options: ImportOptions) -> Path:
    beside = [directory / metric for metric in _METRICS]
    roots = [] if options.definitions is None else [options.definitions]
    roots += list(directory.parents)[:5]
    named = [
        root / place / directory.name / metric
        for root in roots
        for place in _DEFINITIONS
        for metric in _METRICS
    ]
    alone = [] if options.definitions is None else [options.definitions / m for m in _METRICS]
    for path in [*beside, *named, *alone]:
        if path.is_file():
            return path
    raise TaskError(
        f"{directory} has no metric class; name the directory that has {directory.name}/"
        "utils/metric.py, mledojo/competitions of a clone of MLE-Dojo, by --definitions"
    )


def _board(name: str, private: Path, metric: Path) -> Path:
    beside = private / name
    return beside if beside.is_file() else metric.parent.parent / "info" / name


def _declared_direction(metric: Path) -> bool | None:
    """What the class says by the default of its argument `higher_is_better`; nothing is run."""
    for node in ast.walk(_tree(metric)):
        if not (isinstance(node, ast.FunctionDef) and node.name == "__init__"):
            continue
        arguments = [*node.args.args, *node.args.kwonlyargs]
        defaults = [*node.args.defaults, *node.args.kw_defaults]
        for argument, default in zip(arguments[::-1], defaults[::-1], strict=False):
            if argument.arg == "higher_is_better" and isinstance(default, ast.Constant):
                return bool(default.value)
    return None


def _tree(metric: Path) -> ast.Module:
    try:
        return ast.parse(metric.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):  # the grader will say so, of this task alone
        return ast.Module(body=[], type_ignores=[])
