"""Makes sets of real outcomes: varied actions, group by group, executed for real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wmrl_gym.envs.mle.catalog import available_task_names, load_task
from wmrl_gym.envs.mle.choice import TaskChoice
from wmrl_gym.envs.mle.env import MLEEnv
from wmrl_gym.envs.mle.scripts import REFERENCES, Script, sample_scripts
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Execution

_GROUPS_AT_ONCE = 4
"""Groups whose scripts run together, so that one that sleeps keeps fewer workers idle."""
_ANY_SCRIPT = "execute_code\n```python\npass\n```"


@dataclass(frozen=True)
class Collection:
    """What to collect. The same fields and the same installed packages give the same artifacts."""

    tasks: tuple[str, ...] = ()
    """Names of tasks, taken in turn; all built-in ones in their small size if empty."""
    groups: int = 64
    """Groups in all."""
    group_size: int = 8
    """Executions in a group."""
    timeout_s: float = 10.0
    """Wall-clock limit of one execution, in seconds."""
    seed: int = 0
    """Seed of the artifacts."""
    sandbox: str = "auto"
    """Sandbox back end."""
    workers: int | None = None
    """Executions at once; one per usable core if `None`."""
    store: str | None = None
    """Path of a store of real outcomes: what is in it is not executed again."""

    def __post_init__(self) -> None:
        for name in ("groups", "group_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s={self.timeout_s} must be positive")


def collect_scripts(collection: Collection) -> Iterator[list[OutcomeRecord]]:
    """Execute groups of scripts for tasks of `WMRL-MLE-v0`, all from the start of an episode.

    Each group has one solution of reference, pipelines at random and scripts with planted
    faults (see `wmrl_gym.envs.mle.scripts`).

    Returns:
        Executes and gives one group after the other.

    Raises:
        TaskError: If a task is unknown.
        ValueError: If no scripts can be written for a task.
        SandboxUnavailableError: If no sandbox works here.
    """
    tasks = _tables(collection.tasks or available_task_names(micro=True))
    env = MLEEnv(
        tasks=tasks,
        timeout_s=collection.timeout_s,
        sandbox=collection.sandbox,
        workers=collection.workers,
        store=collection.store,
    )
    return _execute(env, tasks, collection)


def _execute(
    env: MLEEnv, tasks: Sequence[str], collection: Collection
) -> Iterator[list[OutcomeRecord]]:
    rng = np.random.default_rng(collection.seed)
    try:
        for first in range(0, collection.groups, _GROUPS_AT_ONCE):
            numbers = range(first, min(first + _GROUPS_AT_ONCE, collection.groups))
            drawn = {n: _group(env, tasks, n, collection.group_size, rng) for n in numbers}
            executions = [execution for group in drawn.values() for execution, _ in group]
            outcomes = iter(env.executor.execute(executions))
            for number, group in drawn.items():
                yield [
                    OutcomeRecord(execution, next(outcomes), number, script.origin)
                    for execution, script in group
                ]
    finally:
        env.close()


def _tables(names: Sequence[str]) -> list[str]:
    """The names of the tasks, which have to be tables."""
    tasks = TaskChoice(names).tasks
    for task in tasks:
        if not isinstance(task, TableTask):
            raise ValueError(f"task {task.name!r} is no table: no scripts can be written for it")
    return [task.name for task in tasks]


def _group(
    env: MLEEnv, tasks: Sequence[str], number: int, size: int, rng: np.random.Generator
) -> list[tuple[Execution, Script]]:
    """The executions of a group. The task of its number, and so its reference, take turns."""
    name = tasks[number % len(tasks)]
    task = load_task(name)
    assert isinstance(task, TableTask)
    env.reset(seed=number, options={"task": name})
    # What the environment would propose for any script; those that do not compile it would
    # judge without an executor, which judges them alike.
    start = env.propose(_ANY_SCRIPT)
    assert start is not None
    turn = number // len(tasks) + number % len(tasks)
    reference = list(REFERENCES)[turn % len(REFERENCES)]
    scripts = sample_scripts(task, size, rng, reference=reference)
    return [(replace(start, artifact=script.text), script) for script in scripts]
