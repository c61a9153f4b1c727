"""`wmrl-gym tasks`: what there is to train on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from wmrl_gym.envs.mle.catalog import available_task_names, load_task, task_names


@dataclass(frozen=True)
class TasksList:
    """List the built-in tasks."""

    def __call__(self) -> None:
        """Print one line for each task."""
        table = Table("task", "kind", "metric", "data", "licence")
        available = set(available_task_names())
        for name in task_names():
            if name in available:
                task = load_task(name)
                table.add_row(name, task.kind, task.metric, task.origin, task.licence)
            else:
                table.add_row(name, "", "", 'pip install "wmrl-gym[tasks]"', "")
        Console().print(table)


@dataclass(frozen=True)
class TasksShow:
    """Show what a task asks for, and what reference solutions reach."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of the task."""

    def __call__(self) -> None:
        """Print the description and the references."""
        task = load_task(self.task)
        console = Console()
        console.print(Markdown(task.description))
        table = Table("reference solution", task.metric)
        for name, value in task.references.items():
            table.add_row(name, f"{value:.5g}")
        console.print(table)


@dataclass(frozen=True)
class TasksPrepare:
    """Prepare the files of tasks ahead of their first use."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names of tasks; all whose data are installed if none is given."""

    def __call__(self) -> None:
        """Prepare and print where the public part is."""
        for name in self.tasks or available_task_names():
            print(f"{name}: {load_task(name).public}")
