"""The tasks by name: those that come with the library, and those that a user imported.

Each built-in task is described by one file in the directory `tasks`; its data come from an
installed package. Some need nothing but scikit-learn, the others the extra `tasks`. Each comes
in two sizes: as it is, and `<name>-micro`, a sample that a plain solution handles in under two
seconds.
"""

from __future__ import annotations

import difflib
import tomllib
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle import importers
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

MICRO = "-micro"
"""Ends the name of the small size of a task."""
MICRO_ROWS = 600
"""Rows of that size, unless the task says otherwise."""

_SOURCE_KEYS = frozenset({"package", "module", "files", "reader", "rename", "labels"})
_DESCRIPTIONS = Path(__file__).parent / "tasks"


def task_names(*, micro: bool = False) -> tuple[str, ...]:
    """Names of all built-in tasks, sorted, whether or not their packages are installed."""
    names = sorted(path.stem for path in _DESCRIPTIONS.glob("*.toml"))
    return tuple(name + MICRO if micro else name for name in names)


def available_task_names(*, micro: bool = False) -> tuple[str, ...]:
    """Names of the built-in tasks whose packages are installed, sorted."""
    names = (name for name in task_names() if _source(_description(name)).installed)
    return tuple(name + MICRO if micro else name for name in names)


@cache
def load_task(name: str) -> Task:
    """The task of that name. Reads its description only, not its data.

    Args:
        name: A built-in task, an imported one (see `wmrl-gym tasks import`), or the path of a
            task in one of the layouts of `wmrl_gym.envs.mle.importers`.

    Returns:
        The task; the same object for the same name.

    Raises:
        TaskError: If there is no such task, or it cannot be read.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    if name.removesuffix(MICRO) in task_names():
        return _built_in(name)
    if importers.is_imported(name):
        return importers.load_imported(name)
    known = (*task_names(), *importers.imported_names())
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "there are:"
    listed = "" if close else f" {', '.join(known)}"
    raise TaskError(
        f"task={name!r} is no built-in task, no imported one and no path; {hint}{listed}"
    )


def load_tasks(reference: str) -> tuple[Task, ...]:
    """The tasks that a name or a path stands for: one, or all of a directory of several.

    Of a directory of several, those that cannot be read are left out, with a warning that says
    why each one is.

    Args:
        reference: As for `load_task`, or a directory of several tasks, which may be `mine` for
            `./mine` as long as no task has that name.

    Raises:
        TaskError: If there is no such task, or none that can be read.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    if not importers.is_path(reference) and (_is_name(reference) or not Path(reference).is_dir()):
        return (load_task(reference),)
    tasks, problems = [], []
    for name in importers.names_at(reference):
        try:
            tasks.append(load_task(name))
        except TaskError as error:
            problems.append(f"{name}: {error}")
    if not tasks:
        raise TaskError("\n".join(problems))
    if problems:
        told = "\n".join([f"left out {len(problems)} of {reference}:", *problems])
        warnings.warn(told, UserWarning, stacklevel=2)
    return tuple(tasks)


def _is_name(reference: str) -> bool:
    return reference.removesuffix(MICRO) in task_names() or importers.is_imported(reference)


def _built_in(name: str) -> TableTask:
    described = _description(name.removesuffix(MICRO))
    source = _source(described)
    _ = source.paths  # raises here, where the user named the task, rather than in a sandbox pool
    micro = described.pop("micro", {})
    if name.endswith(MICRO):
        described |= {"rows": MICRO_ROWS, "references": {}, "seconds": {}, **micro}
    fields = {key: value for key, value in described.items() if key not in _SOURCE_KEYS}
    for sequence in ("targets", "classes", "tags"):
        fields[sequence] = tuple(fields.get(sequence, ()))
    return TableTask(name=name, source=source, **fields)


def _description(name: str) -> dict[str, Any]:
    described = tomllib.loads((_DESCRIPTIONS / f"{name}.toml").read_text(encoding="utf-8"))
    if "target" in described:
        described["targets"] = [described.pop("target")]
    return described


def _source(described: Mapping[str, Any]) -> Source:
    labels = {described["targets"][0]: described["labels"]} if "labels" in described else {}
    return Source(
        package=described["package"],
        module=described["module"],
        files=tuple(described["files"]),
        reader=described.get("reader", "csv"),
        rename=described.get("rename", {}),
        labels=labels,
    )
