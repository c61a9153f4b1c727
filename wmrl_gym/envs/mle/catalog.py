"""The tasks that come with the library.

Each is described by one file in the directory `tasks`; its data come from an installed
package. Four need nothing but scikit-learn, the others the extra `tasks`.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

_SOURCE_KEYS = frozenset({"package", "module", "files", "reader", "rename", "labels"})
_DESCRIPTIONS = Path(__file__).parent / "tasks"


def task_names() -> tuple[str, ...]:
    """Names of all built-in tasks, sorted, whether or not their packages are installed."""
    return tuple(sorted(path.stem for path in _DESCRIPTIONS.glob("*.toml")))


def available_task_names() -> tuple[str, ...]:
    """Names of the built-in tasks whose packages are installed, sorted."""
    return tuple(name for name in task_names() if _source(_description(name)).installed)


@cache
def load_task(name: str) -> Task:
    """The built-in task of that name. Reads its description only, not its data.

    Args:
        name: One of `task_names()`.

    Returns:
        The task; the same object for the same name.

    Raises:
        TaskError: If there is no such task.
        MissingDependencyError: If the package that holds the data is not installed.
    """
    if name not in task_names():
        close = difflib.get_close_matches(name, task_names(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "there are:"
        listed = "" if close else f" {', '.join(task_names())}"
        raise TaskError(f"task={name!r} is not a built-in task; {hint}{listed}")
    described = _description(name)
    source = _source(described)
    _ = source.paths  # raises here, where the user named the task, rather than in a sandbox pool
    fields = {key: value for key, value in described.items() if key not in _SOURCE_KEYS}
    for sequence in ("classes", "tags"):
        fields[sequence] = tuple(fields.get(sequence, ()))
    return Task(name=name, source=source, **fields)


def _description(name: str) -> dict[str, Any]:
    return tomllib.loads((_DESCRIPTIONS / f"{name}.toml").read_text(encoding="utf-8"))


def _source(described: Mapping[str, Any]) -> Source:
    labels = {described["target"]: described["labels"]} if "labels" in described else {}
    return Source(
        package=described["package"],
        module=described["module"],
        files=tuple(described["files"]),
        reader=described.get("reader", "csv"),
        rename=described.get("rename", {}),
        labels=labels,
    )
