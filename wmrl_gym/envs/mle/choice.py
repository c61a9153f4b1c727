"""Which task an episode is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wmrl_gym.envs.mle.catalog import available_task_names, load_task, load_tasks
from wmrl_gym.envs.mle.task import Task


class TaskChoice:
    """The tasks that an environment draws from.

    Args:
        names: Names or paths of tasks; `None` for all built-in ones whose data are installed.
            The path of a directory with several tasks stands for all of them.

    Raises:
        TaskError: If a task is unknown.
        ValueError: If `names` is empty.
    """

    def __init__(self, names: Sequence[str] | None) -> None:
        given = available_task_names() if names is None else names
        if not given:
            raise ValueError("tasks=[] must name at least one task")
        self.names = tuple(task.name for name in given for task in load_tasks(name))

    @property
    def tasks(self) -> list[Task]:
        """The tasks."""
        return [load_task(name) for name in self.names]

    @property
    def first(self) -> Task:
        """The first of the tasks."""
        return load_task(self.names[0])

    def draw(self, rng: np.random.Generator, options: dict[str, Any] | None) -> Task:
        """The task that `options["task"]` names; without it, one drawn at random.

        The number is drawn either way, so that naming a task does not shift the stream.
        """
        drawn = self.names[int(rng.integers(len(self.names)))]
        name = drawn if options is None else options.get("task", drawn)
        if name not in self.names:
            raise ValueError(f"options['task']={name!r} is not one of {list(self.names)}")
        return load_task(name)

    def index(self, name: str) -> int:
        """Position of a task among the names."""
        return self.names.index(name)


def named_tasks(tasks: Sequence[str] | None, task: str | None) -> Sequence[str] | None:
    """The two ways of naming tasks as one.

    Raises:
        ValueError: If both are used.
    """
    if task is None:
        return tasks
    if tasks is not None:
        raise ValueError(f"give either task={task!r} or tasks={list(tasks)!r}, not both")
    return [task]
