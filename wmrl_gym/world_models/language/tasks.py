"""What is known about a task before any model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from wmrl_gym.errors import MissingDependencyError, TaskError
from wmrl_gym.world_models.language.data_report import data_report


@dataclass(frozen=True)
class TaskFacts:
    """A task as a world model sees it."""

    known: bool = False
    """Whether it is a task of `WMRL-MLE-v0`; of others nothing is assumed about scripts."""
    submission: str = ""
    """Name of the file that a script has to leave."""
    report: str = ""
    """What its data look like."""


@lru_cache(maxsize=256)
def task_facts(name: str, version: str) -> TaskFacts:
    """The facts of a task, gathered once for each version.

    Args:
        name: `Execution.task`.
        version: `Execution.task_version`.
    """
    del version  # part of the key only: another version has other data
    # Tasks are made of data frames, which take a second to import: only where one is asked for.
    from wmrl_gym.envs.mle.catalog import load_task

    try:
        task = load_task(name)
        return TaskFacts(True, task.submission, data_report(task.public))
    except (TaskError, MissingDependencyError):
        return TaskFacts()


def importable_packages() -> frozenset[str] | None:
    """What scripts can import beside the standard library, by top-level name.

    The sandboxes show scripts some of the packages of this installation; an image of the
    user's own has packages that nothing is known of here: `None`.
    """
    from wmrl_gym.sandboxes.docker.image import own_image
    from wmrl_gym.sandboxes.runtime import find_runtime

    if own_image():
        return None
    return frozenset(path.name.partition(".")[0] for path in find_runtime().packages)
