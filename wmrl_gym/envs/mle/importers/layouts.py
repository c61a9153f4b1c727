"""The layouts that tasks are imported from: what each offers, and which there are.

A layout is a module of this package with a `NAME` and a function `find`. It tells from names of
files alone whether a directory is one of its own, so that asking all layouts costs little, and
gives a loader for each task that it holds. Nothing is read before a loader is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

LAYOUTS: Mapping[str, str] = MappingProxyType(
    {
        "sandmle": "sandmle",
        "mle-bench": "mle_bench",
        "mle-dojo": "mle_dojo",
        "dsbench": "dsbench",
        "mlgym": "mlgym",
        "folder": "folder",
    }
)
"""Modules of the layouts, by name, in the order in which they are asked; the first that fits is
taken. SandMLE's directories are MLE-bench's with an evaluator in them."""

Loader = Callable[[str], Task]
"""Loads a task; its argument is the `name` that the task is to have."""


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What a user may say about tasks that their files do not say, or not where they are."""

    higher_is_better: bool | None = None
    """Direction of the metric; `None` to find it out."""
    metric: str | None = None
    """Name of the metric, a key of `METRICS` if it is to tell the direction and the optimum."""
    definitions: Path | None = None
    """Directory with the definitions of tasks, if `path` is that of their data."""
    data: Path | None = None
    """Directory with the data of tasks, if `path` is that of their definitions."""
    grading_s: float = 120.0
    """Wall-clock limit of grading one submission, in seconds."""


class Layout(Protocol):
    """What a module of a layout offers."""

    NAME: str
    """What users call it."""

    def find(self, directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
        """The tasks that a directory holds.

        Args:
            directory: An existing directory, absolute.
            options: What the user says.

        Returns:
            A loader for each task, by a name that is unique in the directory and without `::`;
            if it is a directory of one task, that one. Or, if it is not in this layout, what
            was looked for and is missing, as part of a sentence: `"no file task.yaml"`.
        """
        ...


@dataclass(frozen=True)
class Found:
    """The tasks of a directory."""

    layout: str
    """Name of the layout."""
    tasks: Mapping[str, Loader]
    """A loader for each task, by name."""


def find_tasks(
    directory: Path, options: ImportOptions | None = None, *, layout: str | None = None
) -> Found:
    """The tasks that a directory holds, in whatever layout.

    Args:
        directory: The directory.
        options: What the user says about them.
        layout: Name of the layout; `None` to find out.

    Raises:
        TaskError: If it is no directory, or in no layout; says for each what was missing.
        ValueError: If there is no such layout.
    """
    if not directory.is_dir():
        raise TaskError(f"path={str(directory)!r} is not a directory")
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r} must be one of {', '.join(LAYOUTS)}")
    missing = []
    for name in LAYOUTS if layout is None else [layout]:
        found = _layout(name).find(directory, options or ImportOptions())
        if not isinstance(found, str):
            return Found(name, found)
        missing.append(f"  {name}: {found}")
    raise TaskError("\n".join([f"path={str(directory)!r} is in none of these layouts:", *missing]))


def _layout(name: str) -> Layout:
    module: Layout = importlib.import_module(f"{__package__}.{LAYOUTS[name]}")
    return module
