"""MLGym: a YAML file for each task and each data set, and a script that evaluates.

    configs/tasks/<task>.yaml       names starter code, data sets, evaluation script, baselines
           /datasets/<name>.yaml    names a directory with data
    data/<task>/...                 what these files name, by paths from the root

Tasks that submit a CSV file or a Python file can be imported. The evaluation script and the
answers that it reads, which MLGym leaves where agents can read them, are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.mlgym_evaluation import Evaluation, inspect_evaluation
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.reading import read_yaml, required, within
from wmrl_gym.envs.mle.task import SUBMISSION
from wmrl_gym.errors import TaskError

NAME = "mlgym"
"""What users call this layout."""
_TASKS = Path("configs", "tasks")
_CSV, _PYTHON = "CSVSubmissionTasks", "PythonSubmissionTasks"
_BASELINE = "baseline"


@dataclass(frozen=True)
class _Files:
    """The files of a task, found."""

    starter: Sequence[Path]
    datasets: Sequence[Path]
    secrets: frozenset[Path]
    sample: Path | None

    def all(self) -> list[Path]:
        """Files and directories."""
        return [*self.starter, *self.datasets]


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The tasks of a clone, by the names of their files."""
    for root in (directory, directory.parent, *directory.parents[1:2]):
        inside = (root, root / "configs", root / _TASKS)
        tasks = sorted((root / _TASKS).glob("*.yaml")) if directory in inside else []
        if tasks:
            return {path.stem: partial(_load, path, root, options) for path in tasks}
    return f"no {_TASKS}/*.yaml"


def _load(path: Path, root: Path, options: ImportOptions, name: str) -> ImportedTask:
    """Load a task.

    Args:
        path: Its YAML file.
        root: The directory that paths in it start from.
        options: What the user says.
        name: The name that the task is to have.

    Raises:
        TaskError: If it is of a kind that cannot be imported, or names files that are missing.
    """
    content = read_yaml(path)
    kind = str(content.get("task_entrypoint") or _CSV)
    if kind not in (_CSV, _PYTHON):
        raise TaskError(
            f"task_entrypoint={kind!r} of {path} cannot be imported: it submits a model or needs "
            f"GPUs; {_CSV} and {_PYTHON} can"
        )
    datasets = [_dataset(root, str(d)) for d in content.get("dataset_configs") or ()]
    starter = [_named(root, str(s), "starter_code") for s in content.get("starter_code") or ()]
    evaluation = inspect_evaluation(content, path, starter)
    files = _files(content, root, starter, [place for _, place in datasets], evaluation)
    baselines = _baselines(content)
    metric = _metric(baselines, options, path)
    return ImportedTask(
        name=name,
        title=str(content.get("name") or path.stem),
        layout=NAME,
        describe=partial(_description, required(content, "description", path), datasets),
        files=PublicFiles(_shown(files), files.secrets),
        grading=_grading(kind, files, evaluation, metric, options),
        metric=metric,
        submission=SUBMISSION if kind == _CSV else evaluation.submitted_script(path),
        options=options,
        definitions=[path, *(file for file in starter if file.suffix in (".py", ".yaml"))],
        data=files.all(),
        baselines={_BASELINE: baselines[metric]} if metric in baselines else {},
        origin=f"MLGym, {path.stem}",
        licence="see its data sets; MLGym allows non-commercial use",
        remarks=_remarks(files, root),
    )


def _named(root: Path, name: str, what: str) -> Path:
    path = within(root, name, what)
    if not path.exists():
        raise TaskError(f"{what}={name!r}: there is no {path}")
    return path


def _dataset(root: Path, name: str) -> tuple[Mapping[str, Any], Path]:
    """A description of a data set, and the directory that has it."""
    path = within(root, str(Path("configs", name)), "dataset_configs")
    content = read_yaml(path)
    place = required(content, "data_path", path)
    if not content.get("is_local", False):
        raise TaskError(
            f"the data set of {path} is not on this machine (is_local is not true); fetch "
            f"{place!r} and set data_path to its directory and is_local to true"
        )
    found = _named(root, place, "data_path")
    if not found.is_dir():
        raise TaskError(f"data_path={place!r} of {path} is not a directory")
    return content, found


def _files(
    content: Mapping[str, Any],
    root: Path,
    starter: Sequence[Path],
    datasets: Sequence[Path],
    evaluation: Evaluation,
) -> _Files:
    named = content.get("sample_submission")
    sample = _named(root, str(named), "sample_submission") if named else None
    secret = [str(name) for name in content.get("secret_files") or ()]
    secrets = evaluation.secrets(starter, datasets, sample, secret)
    for path in [*secrets, *([sample] if sample else [])]:
        refuse_pointer(path)
    return _Files(starter, datasets, secrets, sample)


def _shown(files: _Files) -> Mapping[str, Path]:
    """Starter files side by side and data sets in `data`, as in MLGym's workspace."""
    shown = {path.name: path for path in files.starter}
    return shown | {_shown_at(path, files.datasets): path for path in files.datasets}


def _shown_at(dataset: Path, datasets: Sequence[Path]) -> str:
    return "data" if len(datasets) == 1 else f"data/{dataset.name}"


def _grading(
    kind: str, files: _Files, evaluation: Evaluation, metric: str, options: ImportOptions
) -> ForeignGrading:
    mounted = {f"part-{i}": _directory(path) for i, path in enumerate(files.all())}
    places = [
        f"../part-{i}" if path.is_dir() else f"../part-{i}/{path.name}"
        for i, path in enumerate(files.all())
    ]
    count = len(files.starter)
    rules: dict[str, Any] = {
        "program": evaluation.program,
        "starter": places[:count],
        "datasets": places[count:],
        "number": metric,
    }
    if kind == _CSV:
        answers = evaluation.answers(files.secrets)
        return ForeignGrading(
            caller="mlgym",
            rules=rules,
            answers=answers,
            sample=files.sample,
            data=mounted,
            wall_s=options.grading_s,
            divisible=False,
        )
    shown = [
        place
        for path, place in zip(files.starter, places[:count], strict=True)
        if path.is_file() and path not in files.secrets
    ]
    # Half of the time: a script that takes it all is to blame, not the program that waits.
    rules |= {"submission": evaluation.script, "shown": shown, "seconds": options.grading_s / 2}
    return ForeignGrading(
        caller="mlgym",
        rules=rules,
        data=mounted,
        wall_s=options.grading_s,
        divisible=False,
        kind="script",
    )


def _directory(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _baselines(content: Mapping[str, Any]) -> dict[str, float]:
    """The scores of the baseline on the first data set, by metric."""
    scores = content.get("baseline_scores") or [{}]
    return {str(name): float(value) for name, value in dict(scores[0]).items()}


def _metric(baselines: Mapping[str, float], options: ImportOptions, path: Path) -> str:
    """The metric to go by: the user's choice, else the first that the baseline has."""
    metric = options.metric or next(iter(baselines), None)
    if metric is None:
        raise TaskError(
            f"{path} has no baseline_scores, which would name the metric; name the one to take "
            "of those that its evaluation prints by --metric"
        )
    return metric


def _description(text: str, datasets: Sequence[tuple[Mapping[str, Any], Path]]) -> str:
    """The description with what the data sets say of themselves, and where they are here."""
    docs = "\n\n".join(
        f"{content.get('name', place.name)}: {content.get('description', '')}\n"
        f"Its files are in ../input/{_shown_at(place, [p for _, p in datasets])}."
        for content, place in datasets
    )
    filled = text.replace("{dataset_docs}", docs)
    return filled if docs in filled else f"{filled}\n\n{docs}"


def _remarks(files: _Files, root: Path) -> Sequence[str]:
    hidden = sorted(str(path.relative_to(root)) for path in files.secrets)
    return [f"not shown to agents: {', '.join(hidden)}"]
