"""Wrap an environment of your own whose reward is slow, and train PPO or GRPO on it.

What is slow is one function from an execution to an outcome. The environment only says what
an action would execute (`propose`) and what the outcome means (`resolve`). Here the slow part
is a furnace that takes a while to tell how good a recipe is.

    python examples/wrap_your_own.py
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_gym import (
    Execution,
    ExecutionEnv,
    Outcome,
    PooledExecutor,
    Status,
    WorldModelRewardVectorWrapper,
)
from wmrl_gym.agents import GRPO


def bake(execution: Execution) -> Outcome:
    """The expensive part: 20 ms here, hours in a laboratory."""
    started = time.perf_counter()
    time.sleep(0.02)
    ore, heat = json.loads(execution.artifact)
    quality = math.exp(-((heat - 2 * ore) ** 2) / 8)  # each ore has its own best heat
    return Outcome(Status.COMPLETED, quality, seconds=time.perf_counter() - started)


class Furnace(ExecutionEnv[np.ndarray, int]):
    """One decision: how hot to bake the ore that came in."""

    observation_space = gym.spaces.Box(0, 4, (1,), np.float32)
    action_space = gym.spaces.Discrete(10)

    def __init__(self) -> None:
        self.executor = PooledExecutor(bake, workers=4)
        self.ore = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.ore = int(self.np_random.integers(5))
        return np.array([self.ore], np.float32), {}

    def propose(self, action: int) -> Execution:
        numbers = {"ore": float(self.ore), "heat": float(action)}
        return Execution("furnace", json.dumps([self.ore, int(action)]), features=numbers)

    def resolve(self, action: int, outcome: Outcome | None) -> tuple:
        score = outcome.score if outcome and outcome.score is not None else 0.0
        return np.array([self.ore], np.float32), score, True, False, {}


def main() -> None:
    """Train, and say what was executed."""
    vector = SyncVectorEnv([Furnace] * 64, autoreset_mode=AutoresetMode.DISABLED)
    env = WorldModelRewardVectorWrapper(vector, world_model="surrogate", anchor_fraction=0.1)
    model = GRPO("MlpPolicy", env, learning_rate=0.01, seed=0)
    model.learn(total_timesteps=64 * 30)
    totals = env.anchored.totals
    print(f"real executions: {totals.executions_real}, avoided: {totals.executions_avoided}")
    observations = np.arange(5, dtype=np.float32)[:, None]
    print("heat chosen for each ore:", model.predict(observations, deterministic=True)[0].tolist())
    env.close()


if __name__ == "__main__":
    main()
