"""`wmrl-gym tasks`: what there is to train on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from wmrl_gym.envs.mle.catalog import (
    available_task_names,
    load_task,
    load_tasks,
    task_names,
)
from wmrl_gym.envs.mle.importers import imported_names, load_imported
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import MissingDependencyError, TaskError


@dataclass(frozen=True)
class TasksList:
    """List the built-in tasks and the imported ones."""

    def __call__(self) -> None:
        """Print one line for each task."""
        table = Table("task", "tags", "metric", "data", "licence")
        available = set(available_task_names())
        for name in task_names():
            if name in available:
                task = load_task(name)
                table.add_row(name, ", ".join(task.tags), task.metric, task.origin, task.licence)
            else:
                table.add_row(name, "", "", 'pip install "wmrl-gym[tasks]"', "")
        for name in imported_names():
            table.add_row(name, *_imported(name))
        Console(markup=False).print(table)


def _imported(name: str) -> tuple[str, str, str, str]:
    """The line of an imported task, whose files may be gone by now."""
    try:
        task = load_imported(name)
    except (TaskError, MissingDependencyError) as error:
        return "", "", f"cannot be read: {error}", ""
    return ", ".join(task.tags), task.metric, task.origin, task.licence


@dataclass(frozen=True)
class TasksShow:
    """Show what a task asks for, and what reference solutions reach."""

    task: Annotated[str, tyro.conf.Positional]
    """Name or path of the task."""

    def __call__(self) -> None:
        """Print the description and the references."""
        for task in load_tasks(self.task):
            self._show(task)

    def _show(self, task: Task) -> None:
        console = Console(markup=False)
        console.print(Markdown(task.description))
        for note in getattr(task, "notes", ()):
            console.print(f"Note: {note}")
        table = Table("reference solution", task.metric)
        for name, value in task.references.items():
            table.add_row(name, f"{value:.5g}")
        console.print(table)


@dataclass(frozen=True)
class TasksPrepare:
    """Prepare the files of tasks ahead of their first use."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names or paths of tasks; all whose data are installed if none is given."""

    def __call__(self) -> None:
        """Prepare and print where the public part is."""
        for name in self.tasks or available_task_names():
            for task in load_tasks(name):
                print(f"{task.name}: {task.public}")
