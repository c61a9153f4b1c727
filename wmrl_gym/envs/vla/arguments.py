"""Checks of the environments' arguments: each error names the parameter, the value and the mend."""

from __future__ import annotations

from collections.abc import Sequence

from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.errors import TaskError


def named_tasks(tasks: Sequence[str] | None, task: str | None) -> tuple[str, ...]:
    """The tasks that are meant: `tasks`, or the one `task`, or all when both are `None`.

    Raises:
        TaskError: If a name is unknown.
        ValueError: If both are given, or no name.
    """
    if tasks is not None and task is not None:
        raise ValueError(f"tasks={tasks!r} and task={task!r}: give one of the two")
    names = tuple(FAMILIES) if tasks is task is None else (task,) if task else tuple(tasks or ())
    if not names:
        raise ValueError(f"tasks={tasks!r} is empty; choose from {', '.join(FAMILIES)}")
    for name in names:
        if name not in FAMILIES:
            raise TaskError(f"task={name!r} is unknown; choose from {', '.join(FAMILIES)}")
    return names


def require_among(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise a `ValueError` unless `value` is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(allowed)}")


def require_at_least(name: str, value: int | None, least: int) -> None:
    """Raise a `ValueError` if `value` is below `least`; `None` passes."""
    if value is not None and value < least:
        raise ValueError(f"{name}={value} must be at least {least}")
