"""`WMRL-MLE-Pipeline-v0`: the numeric twin, where a row of choices becomes a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from numpy.typing import ArrayLike, NDArray

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.envs.mle.catalog import available_task_names, load_task
from wmrl_gym.envs.mle.choice import TaskChoice, named_tasks
from wmrl_gym.envs.mle.env import NO_EXECUTION
from wmrl_gym.envs.mle.executor import make_executor
from wmrl_gym.envs.mle.pipeline_script import has_pipelines, render
from wmrl_gym.envs.mle.pipeline_space import NVEC, choice_features, describe
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Execution, Outcome

Observation = NDArray[np.float32]
Action = NDArray[np.int64]

FEATURE_BOUND = 5.0
"""Task features lie within plus and minus this."""


class MLEPipelineEnv(ExecutionEnv[Observation, Action]):
    """An agent chooses a machine-learning pipeline for a task that it sees as numbers.

    Observation: `[F]` float32, features of the task (`Task.features`, in their order).

    Action: `[9]` int, one option of each of `pipeline_space.DIMENSIONS`: imputation,
    encoding, scaling, expansion, model, capacity, regularisation, validation, target. They
    are written out as a script, which runs in the same sandbox and on the same ladder of
    scores as in `WMRL-MLE-v0`. Choices cost time, and some crash.

    An episode is one step; its reward is the score, in [0, 1].

    `info`: `task_index` int, `status` int (a `Status`; -2 after a reset), `score` float.

    Args:
        tasks: Names or paths of the tasks to draw from, each one table with one target; `None`
            for all such built-in ones whose data are installed.
        task: One name or path, in the place of `tasks`.
        timeout_s: Wall-clock limit of one execution, in seconds.
        sandbox: Sandbox back end, or `"auto"`.
        executor: `"pool"` for this machine, `"ray"` for a Ray cluster.
        address: Address of that cluster; `None` to start Ray here.
        workers: Executions that run at once on this machine; `None` for as many as there are
            usable cores for.
        store: Path of a store of real outcomes; `None` to remember nothing.
        cpus: CPUs of one execution: threads that it is told to use, and what Ray reserves.
        memory_mb: Its memory limit, in MiB; Ray reserves that too.
        gpus: GPUs that it is given for itself; they need the back end "docker".
        render_mode: `"ansi"` or `None`.

    Raises:
        TaskError: If a task is unknown, or is not one table with one target.
        ValueError: If `timeout_s` is not positive.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self,
        *,
        tasks: Sequence[str] | None = None,
        task: str | None = None,
        timeout_s: float = 20.0,
        sandbox: str = "auto",
        executor: str = "pool",
        address: str | None = None,
        workers: int | None = None,
        store: str | None = None,
        cpus: int = 1,
        memory_mb: int = 2048,
        gpus: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if not timeout_s > 0:
            raise ValueError(f"timeout_s={timeout_s} must be positive")
        self._choice = TaskChoice(
            _table_names() if tasks is task is None else named_tasks(tasks, task)
        )
        for chosen in self._choice.tasks:
            _as_table(chosen)
        self.executor = make_executor(
            executor,
            address=address,
            sandbox=sandbox,
            workers=workers,
            store=store,
            cpus=cpus,
            memory_mb=memory_mb,
            gpus=gpus,
        )
        self.timeout_s = timeout_s
        self.render_mode = render_mode
        first = _as_table(self._choice.first)
        size = len(first.features())
        self.observation_space = Box(-FEATURE_BOUND, FEATURE_BOUND, (size,), np.float32)
        self.action_space = MultiDiscrete(NVEC)
        self._task = first
        self._shown = ""

    @property
    def task(self) -> TableTask:
        """The task of this episode."""
        return self._task

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode on `options["task"]`, or on a task drawn at random.

        Raises:
            ValueError: If `options["task"]` is not among the tasks of this environment.
        """
        super().reset(seed=seed)
        self._task = _as_table(self._choice.draw(self.np_random, options))
        self._shown = self.task.title
        return self._observation(), self._info(NO_EXECUTION, 0.0)

    def describe(self, action: ArrayLike) -> dict[str, str]:
        """The choices that `action` makes, by name.

        Raises:
            ValueError: If `action` is out of range.
        """
        return describe(action)

    def script(self, action: ArrayLike) -> str:
        """The script that `action` stands for on this task.

        Raises:
            ValueError: If `action` is out of range.
        """
        return render(describe(action), self.task)

    def propose(self, action: Action) -> Execution:
        """The script of `action`; an action out of range is an empty one, which is malformed."""
        features = {f"task/{name}": value for name, value in self.task.features().items()}
        choices = _choices(action)
        if choices is not None:
            features |= choice_features(choices)
        return Execution(
            task=self.task.name,
            task_version=self.task.version,
            artifact="" if choices is None else render(choices, self.task),
            timeout_s=self.timeout_s,
            features=features,
            context=self.task.description,
        )

    def resolve(
        self, action: Action, outcome: Outcome | None
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Pay the score; an outcome without one pays 0 and has the status -1."""
        if outcome is None:
            raise ValueError("outcome=None: every action of this environment executes")
        score = 0.0 if outcome.score is None else outcome.score
        choices = _choices(action)
        script = "(not an action)\n" if choices is None else render(choices, self.task)
        self._shown = f"{script}\n{outcome.feedback}"
        return self._observation(), score, True, False, self._info(int(outcome.status), score)

    def render(self) -> str | None:
        """The latest script and what came of it, for `render_mode="ansi"`."""
        return self._shown if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        features = np.array(list(self.task.features().values()), dtype=np.float32)
        return np.clip(features, -FEATURE_BOUND, FEATURE_BOUND)

    def _info(self, status: int, score: float) -> dict[str, Any]:
        return {
            "task_index": self._choice.index(self.task.name),
            "status": status,
            "score": score,
        }


def _choices(action: ArrayLike) -> dict[str, str] | None:
    """The choices of `action`; `None` if it makes none, which is an outcome and no error."""
    try:
        return describe(action)
    except ValueError:
        return None


def _as_table(task: Task) -> TableTask:
    """A task that pipelines can be written for.

    Raises:
        TaskError: If it is another kind of task.
    """
    if isinstance(task, TableTask) and has_pipelines(task):
        return task
    raise TaskError(
        f"task {task.name!r} is not one table with one target, which the pipelines of this "
        "environment need; WMRL-MLE-v0 takes every task"
    )


def _table_names() -> list[str]:
    """The built-in tasks that pipelines can be written for."""
    tasks = [load_task(name) for name in available_task_names()]
    return [task.name for task in tasks if isinstance(task, TableTask) and has_pipelines(task)]
