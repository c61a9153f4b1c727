"""The plain folder: tables and a description, and nothing else.

    my-task/
      task.toml      at least metric and target; or task.yaml, or task.json
      train.csv      features and target
      test.csv       id and features
      answers.csv    id and target, and Public or Private in a column Usage, if wanted
      description.md what the data are, unless task.toml says it as `about`

A folder becomes a task on one table, with everything that built-in tasks have. Its ids, its
order of rows and its cells stay as they are; a `sample_submission.csv` in it is not used, as each
task writes one that fits its metric. Other files are not read. `task_file` has the fields of the
description, and `inference` says what they are where they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.importers.folder_source import ANSWERS, SPLIT, TEST, TRAIN, FolderSource
from wmrl_gym.envs.mle.importers.inference import complete
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.task_file import FILES, find_file, read_file
from wmrl_gym.envs.mle.sample_reference import SampleReference
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

NAME = "folder"
"""What users call this layout."""


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The task of a plain folder, or the tasks of all plain folders in a directory.

    Args:
        directory: An existing directory, absolute.
        options: Not used: a folder says everything itself.

    Returns:
        A loader for each task, by the name of its folder; or what is missing.
    """
    lacking = missing(directory)
    if not lacking:
        return {directory.name: partial(load, directory)}
    within = sorted(path for path in directory.iterdir() if path.is_dir() and not missing(path))
    return {path.name: partial(load, path) for path in within} or lacking


def missing(directory: Path) -> str:
    """What a plain folder has to have and this one has not; empty if it is one."""
    files = [name for name in (TRAIN, TEST, ANSWERS) if not (directory / name).is_file()]
    described = any((directory / name).is_file() for name in FILES)
    if not described:
        files.append(f"{FILES[0]} (or {', '.join(FILES[1:])})")
    return f"no file {', '.join(files)}" if files else ""


def load(directory: Path, name: str) -> TableTask:
    """Load the task of a plain folder.

    Args:
        directory: The folder.
        name: The name that the task is to have.

    Returns:
        The task. Without references of its own, its sample submission is the only one.

    Raises:
        TaskError: If a field is wrong, or does not go with the files.
        MissingDependencyError: If the description is YAML and PyYAML is not installed.
    """
    path = find_file(directory)
    if path is None or missing(directory):
        raise TaskError(f"{directory} has {missing(directory)}")
    try:
        fields = complete(read_file(path), directory)
        source = FolderSource(
            directory=directory,
            id_column=fields["id_column"],
            targets=fields["targets"],
            classified=bool(fields["classes"]),
            negative_allowed=METRICS[fields["metric"]].negative_allowed,
        )
        sample = SampleReference()
        fields["references"] = fields.get("references") or sample
        task = TableTask(name=name, source=source, split_column=SPLIT, **fields)
    except TaskError as error:
        raise TaskError(f"task in {directory}: {error}") from error
    sample.task = task
    return task
