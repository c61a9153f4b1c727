"""Which task an episode is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wmrl_gym.envs.mle.catalog import available_task_names, load_task
from wmrl_gym.envs.mle.task import Task


class TaskChoice:
    """The tasks that an environment draws from.

    Args:
        names: Names of tasks; `None` for all whose data are installed.

    Raises:
        TaskError: If a task is unknown.
        ValueError: If `names` is empty.
    """

    def __init__(self, names: Sequence[str] | None) -> None:
        self.names = tuple(available_task_names() if names is None else names)
        if not self.names:
            raise ValueError("tasks=[] must name at least one task")
        for name in self.names:
            load_task(name)

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
