"""A text environment whose executions are arithmetic, and a world model that errs on purpose."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Text

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel

CHARACTERS = frozenset("".join(map(chr, range(32, 127))) + "\n")


def carry_out(execution: Execution) -> Outcome:
    """Scores a script by the digits in it; "broken" is a failure of ours."""
    if "broken" in execution.artifact:
        raise RuntimeError("the sandbox fell over")
    digits = [int(c) for c in execution.artifact if c.isdigit()]
    score = sum(digits) / (9 * len(digits)) if digits else 0.1
    return Outcome(Status.COMPLETED, score, feedback=f"metric {score:.2f}", seconds=0.25)


class WaitingRun:
    """Scores like `carry_out`, but only once `together` executions run at the same time."""

    def __init__(self, together: int) -> None:
        self.barrier = threading.Barrier(together, timeout=30)

    def __call__(self, execution: Execution) -> Outcome:
        self.barrier.wait()
        return carry_out(execution)


class DigitsEnv(ExecutionEnv[str, str]):
    """Says digits, hears their mean. `done` ends the episode; text without a digit runs nothing."""

    def __init__(self, *, tasks: Sequence[str] = ("a", "b"), max_turns: int = 3) -> None:
        self.observation_space = Text(1000, min_length=0, charset=CHARACTERS)
        self.action_space = Text(1000, min_length=0, charset=CHARACTERS)
        self.executor = PooledExecutor(carry_out, workers=8)
        self.tasks = tuple(tasks)
        self.max_turns = max_turns

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.task = (options or {}).get("task", self.tasks[0])
        self.turn, self.best = 0, 0.0
        return f"Task {self.task}: say digits.", {}

    def propose(self, action: str) -> Execution | None:
        runs = any(c.isdigit() for c in action) or "broken" in action
        return Execution(task=self.task, artifact=action) if runs else None

    def resolve(
        self, action: str, outcome: Outcome | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        score = 0.0 if outcome is None or outcome.score is None else outcome.score
        gained = max(0.0, score - self.best)
        self.best += gained
        text = "nothing ran" if outcome is None else outcome.feedback
        return text, gained, "done" in action, self.turn >= self.max_turns, {}


class HalvingModel(WorldModel):
    """Predicts half of the truth, except for what it is told to fail at."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.learned = 0

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.batches.append(len(executions))
        return [self._predict(execution) for execution in executions]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        self.learned += len(executions)

    def _predict(self, execution: Execution) -> Outcome:
        if "riddle" in execution.artifact or "broken" in execution.artifact:
            return Outcome.unscored("no idea", Source.PREDICTED)
        true = carry_out(execution).score
        assert true is not None
        return Outcome(Status.COMPLETED, true / 2, feedback="predicted", source=Source.PREDICTED)


class ChecksumModel(WorldModel):
    """Predicts any number, but always the same one for a script."""

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [self._predict(execution.artifact) for execution in executions]

    def _predict(self, script: str) -> Outcome:
        score = zlib.crc32(script.encode()) % 1000 / 1000
        return Outcome(Status.COMPLETED, score, feedback="predicted", source=Source.PREDICTED)
