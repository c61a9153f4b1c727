"""`wmrl-gym tasks import`: tasks of other benchmarks, under names of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from wmrl_gym.envs.mle import importers
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.importers import ImportOptions

_Flag = Annotated[bool, tyro.conf.FlagCreatePairsOff]


@dataclass(frozen=True)
class TasksImport:
    """Import tasks in a layout of MLE-bench, MLE-Dojo, DSBench, MLGym or SandMLE, or a folder.

    Nothing is copied: the tasks stay where they are, and get names that every command takes.
    """

    path: Annotated[str, tyro.conf.Positional]
    """Directory of one task or of many; one of many is DIRECTORY::NAME."""
    layout: str | None = None
    """Layout, if several would fit."""
    name: str | None = None
    """Name of a single task, in the place of that of its directory."""
    higher_is_better: _Flag = False
    """Say so of the metric, where the files do not."""
    lower_is_better: _Flag = False
    """Say so of the metric, where the files do not."""
    metric: str | None = None
    """Metric, where the files do not say which, or several are printed."""
    definitions: Path | None = None
    """Directory of definitions, if PATH is that of the data."""
    data: Path | None = None
    """Directory of data, if PATH is that of the definitions."""
    grading_s: float = ImportOptions.grading_s
    """Wall-clock limit of grading one submission, in seconds."""

    def __call__(self) -> None:
        """Register the tasks and print one line for each."""
        found = importers.register(
            self.path,
            options=self._options(),
            layout=self.layout,
            name=self.name,
            taken=[*task_names(), *task_names(micro=True)],
        )
        table = Table("task", "layout", "metric", "data", "notes")
        for name, task in found.tasks.items():
            notes = "; ".join(getattr(task, "notes", ()))
            table.add_row(name, found.layout, task.metric, task.origin, notes)
        for name, problem in found.problems.items():
            table.add_row(name, found.layout, "", "", f"not imported: {problem}")
        Console(markup=False).print(table)

    def _options(self) -> ImportOptions:
        if self.higher_is_better and self.lower_is_better:
            raise ValueError("--higher-is-better and --lower-is-better exclude each other")
        told = self.higher_is_better or self.lower_is_better
        return ImportOptions(
            higher_is_better=self.higher_is_better if told else None,
            metric=self.metric,
            definitions=_absolute(self.definitions),
            data=_absolute(self.data),
            grading_s=self.grading_s,
        )


def _absolute(path: Path | None) -> Path | None:
    """`path`, as seen from any directory."""
    if path is None:
        return None
    found = path.expanduser().resolve()
    if not found.is_dir():
        raise ValueError(f"{str(path)!r} is not a directory")
    return found
