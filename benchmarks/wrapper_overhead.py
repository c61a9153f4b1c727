"""What the reward wrapper adds to a step: over the bare environment, and over its update.

python benchmarks/wrapper_overhead.py
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_gym import (
    BatchedExecution,
    Execution,
    ExecutionEnv,
    Outcome,
    Source,
    Status,
    WorldModel,
    WorldModelRewardVectorWrapper,
    WorldModelRewardWrapper,
)

STEPS = 5000
ROUNDS = 7


class Instant(WorldModel):
    """Predicts at no cost, so that what is left is the wrapper."""

    def __init__(self, source: Source) -> None:
        self.outcome = Outcome(Status.COMPLETED, 0.5, seconds=1.0, source=source)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [self.outcome for _ in executions]


class InstantEnv(ExecutionEnv[Any, Any]):
    """An endless environment that executes at every step."""

    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.executor = Instant(Source.REAL)
        self.observation = np.zeros(4, np.float32)
        self.execution = Execution("task", "artifact")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation, {}

    def propose(self, action: Any) -> Execution:
        return self.execution

    def resolve(self, action: Any, outcome: Outcome | None) -> Any:
        return self.observation, 0.5, False, False, {}


def microseconds_per_step(env: Any, action: Any, steps: int) -> float:
    env.reset(seed=0)
    started = time.perf_counter()
    for _ in range(steps):
        env.step(action)
    return (time.perf_counter() - started) / steps * 1e6


def single() -> tuple[Any, Any]:
    return InstantEnv(), WorldModelRewardWrapper(
        InstantEnv(), world_model=Instant(Source.PREDICTED), anchor_fraction=0.1
    )


def vector(num_envs: int) -> tuple[Any, Any]:
    def make() -> BatchedExecution:
        envs = SyncVectorEnv([InstantEnv] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
        return BatchedExecution(envs)

    model = Instant(Source.PREDICTED)
    return make(), WorldModelRewardVectorWrapper(make(), world_model=model, anchor_fraction=0.1)


def main() -> None:
    rows = [("single", *single(), 0, STEPS, 1)]
    for n in (8, 64):
        rows.append((f"vector of {n}", *vector(n), np.zeros(n, np.int64), STEPS // n, n))
    print(f"{'':<14}{'bare us':>10}{'wrapped us':>12}{'overhead us / env step':>24}")
    for name, bare, wrapped, action, steps, n in rows:
        times = [
            (
                microseconds_per_step(bare, action, steps),
                microseconds_per_step(wrapped, action, steps),
            )
            for _ in range(ROUNDS)
        ]
        a, b = np.median(times, axis=0)
        print(f"{name:<14}{a:>10.1f}{b:>12.1f}{(b - a) / n:>24.1f}")


if __name__ == "__main__":
    main()
