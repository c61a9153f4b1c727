"""A small environment whose every number tells which episode and step it belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from wmrl_gym import Execution, ExecutionEnv, Outcome, Source, Status, WorldModel


def true_score(artifact: str) -> float:
    """A number in [0, 1) that looks random and depends on the artifact alone."""
    return int.from_bytes(hashlib.sha256(artifact.encode()).digest()[:4], "big") / 2**32


class CountingExecutor:
    """Scores artifacts and remembers the batches that it was given."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.closed = 0

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.batches.append(len(executions))
        return [
            Outcome.unscored("the rig is broken")
            if "broken" in execution.artifact
            else Outcome(Status.COMPLETED, true_score(execution.artifact), seconds=2.0)
            for execution in executions
        ]

    def close(self) -> None:
        self.closed += 1


class SquareWorldModel(WorldModel):
    """Predicts the square of the true score: the ranking is right, the scale is not."""

    def __init__(self, *, ready_after: int = 0) -> None:
        self.ready_after = ready_after
        self.batches: list[int] = []
        self.learned = 0

    def ready(self, task: str) -> bool:
        return self.learned >= self.ready_after

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.batches.append(len(executions))
        return [
            Outcome(
                Status.COMPLETED,
                true_score(execution.artifact) ** 2,
                seconds=1.0,
                source=Source.PREDICTED,
            )
            for execution in executions
        ]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        self.learned += len(executions)

    def state_dict(self) -> dict[str, Any]:
        return {"learned": self.learned}

    def load_state_dict(self, state: Any) -> None:
        self.learned = state["learned"]


class CountingEnv(ExecutionEnv[Any, int]):
    """Episodes of a given length; action 4 executes nothing.

    `end` says how they end: "terminate", "truncate" or "both".
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self, *, length: int = 3, end: str = "terminate", render_mode: str | None = None
    ) -> None:
        self.length = length
        self.end = end
        self.render_mode = render_mode
        self.executor = CountingExecutor()
        self.observation_space = gym.spaces.Box(0, 1e6, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(5)
        self._episode = 0
        self._time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode = 0 if seed is not None else self._episode + 1
        self._time = 0
        return self._observation(), {"time": 0}

    def propose(self, action: int) -> Execution | None:
        if action == 4:
            return None
        return Execution(task="count", artifact=f"{self._episode}:{self._time}:{action}")

    def resolve(
        self, action: int, outcome: Outcome | None
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._time += 1
        done = self._time >= self.length
        reward = 0.0 if outcome is None or outcome.score is None else outcome.score
        terminated = done and self.end != "truncate"
        truncated = done and self.end != "terminate"
        return self._observation(), reward, terminated, truncated, {"time": self._time}

    def render(self) -> str:
        return f"{self._episode}:{self._time}"

    def _observation(self) -> Any:
        return np.array([self._episode, self._time], dtype=np.float64)


def register_toy() -> str:
    """Register the toy; importing this module in any process does it too."""
    if "tests/Counting-v0" not in gym.registry:
        gym.register("tests/Counting-v0", entry_point="tests.wrappers.toys:CountingEnv")
    return "tests/Counting-v0"


register_toy()
