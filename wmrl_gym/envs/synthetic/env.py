"""The environment: one decision, scored by one execution."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.envs.synthetic.truth import NAMES, TASKS, execute
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Execution, Outcome

Observation = NDArray[np.float32]


class SyntheticEnv(ExecutionEnv[Observation, NDArray[np.float32]]):
    """A task for benchmarks of the method: the truth is known, and executions cost what you say.

    The observation says which task it is; the action is `ambition`, `skill` and `gloss`; see
    `truth`. Put a `SyntheticWorldModel` over it, whose bias, noise, drift and gullibility are
    dials.

    Args:
        tasks: Tasks to draw from; `reset(options={"task": name})` chooses one.
        execution_seconds: How long an execution waits, >= 0, so that it has a price.
        workers: Executions at once.

    Raises:
        ValueError: If a task is unknown, or `execution_seconds` is negative.

    Examples:
        >>> env = SyntheticEnv(tasks=["tin"])
        >>> observation, info = env.reset(seed=0)
        >>> round(env.step(np.array([-1.0, 0.3, 0.0], dtype=np.float32))[1], 3)
        0.505
        >>> env.close()
    """

    observation_space = gym.spaces.Box(0.0, 1.0, (len(TASKS),), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (len(NAMES),), np.float32)

    def __init__(
        self,
        tasks: Sequence[str] = TASKS,
        *,
        execution_seconds: float = 0.0,
        workers: int | None = 1,
    ) -> None:
        unknown = sorted(set(tasks) - set(TASKS))
        if unknown or not tasks:
            raise ValueError(f"tasks={list(tasks)} must be some of {list(TASKS)}")
        if not execution_seconds >= 0.0:
            raise ValueError(f"execution_seconds={execution_seconds!r} must not be negative")

        def execute_slowly(execution: Execution) -> Outcome:
            time.sleep(execution_seconds)
            return execute(execution)

        self.tasks = tuple(tasks)
        self.executor = PooledExecutor(
            execute_slowly if execution_seconds else execute, workers=workers
        )
        self._task = self.tasks[0]
        self._chance = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw a task, or take `options["task"]`."""
        super().reset(seed=seed)
        task = (options or {}).get("task")
        if task is not None and task not in self.tasks:
            raise ValueError(f"options['task']={task!r} must be one of {list(self.tasks)}")
        self._chance = int(self.np_random.integers(2**32))
        self._task = task or self.tasks[int(self.np_random.integers(len(self.tasks)))]
        return self._observation(), {"task": self._task}

    def propose(self, action: NDArray[np.float32]) -> Execution:
        """Describe the execution; numbers out of range are clipped, those that are none are 0."""
        numbers = np.clip(np.nan_to_num(np.asarray(action, dtype=np.float64)), -1.0, 1.0)
        rounded = [round(float(number), 6) for number in numbers]
        features = dict(zip(NAMES, rounded, strict=True))
        features |= {name: float(name == self._task) for name in TASKS}
        return Execution(self._task, json.dumps([*rounded, self._chance]), features=features)

    def resolve(
        self, action: NDArray[np.float32], outcome: Outcome | None
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """End the episode with the score of the execution."""
        scored = outcome is not None and outcome.score is not None
        score = float(outcome.score) if scored else 0.0  # type: ignore[union-attr,arg-type]  # scored
        return self._observation(), score, True, False, {"task": self._task}

    def _observation(self) -> Observation:
        return np.array([name == self._task for name in TASKS], dtype=np.float32)
