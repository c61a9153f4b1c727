"""The agents with the real reward wrappers, on an environment whose executions are arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th

from tests.agents.toys import sync
from wmrl_gym.agents import GRPO, WeightedPPO
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel
from wmrl_gym.wrappers import WorldModelRewardVectorWrapper, WorldModelRewardWrapper


def true_score(artifact: str) -> float:
    context, first, second = (int(part) for part in artifact.split())
    return ((first == context) + (second == 3 - context)) / 2


class Arithmetic:
    """The real executor; counts what it was asked."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.batches.append(len(executions))
        return [Outcome(Status.COMPLETED, true_score(e.artifact)) for e in executions]

    def close(self) -> None:
        pass


class Flattering(WorldModel):
    """Ranks rightly, but says 0.6 to 0.8 where the truth is 0 to 1."""

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        scores = [0.6 + 0.2 * true_score(execution.artifact) for execution in executions]
        return [Outcome(Status.COMPLETED, s, source=Source.PREDICTED) for s in scores]


class ScriptBandit(ExecutionEnv[Any, Any]):
    observation_space = gym.spaces.Box(0.0, 1.0, (4,), np.float32)
    action_space = gym.spaces.MultiDiscrete([4, 4])

    def __init__(self) -> None:
        self.executor = Arithmetic()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.context = int(self.np_random.integers(4))
        return self._observation(), {}

    def propose(self, action: Any) -> Execution:
        return Execution(task="bandit", artifact=f"{self.context} {action[0]} {action[1]}")

    def resolve(
        self, action: Any, outcome: Outcome | None
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert outcome is not None
        score = 0.0 if outcome.score is None else outcome.score
        return self._observation(), score, True, False, {}

    def _observation(self) -> Any:
        return np.eye(4, dtype=np.float32)[self.context]


def wrapped(num_envs: int = 64, anchor_fraction: float = 0.25) -> WorldModelRewardVectorWrapper:
    return WorldModelRewardVectorWrapper(
        sync(ScriptBandit, num_envs), world_model=Flattering(), anchor_fraction=anchor_fraction
    )


def mean_true_score(model: Any) -> float:
    env = ScriptBandit()
    scores = []
    for seed in range(50):
        observation, _ = env.reset(seed=1000 + seed)
        action, _ = model.predict(observation, deterministic=True)
        scores.append(float(env.step(action)[1]))
    return float(np.mean(scores))


def test_grpo_learns_from_predictions_and_pays_for_the_anchors_only() -> None:
    env = wrapped()
    model = GRPO("MlpPolicy", env, learning_rate=3e-3, seed=0).learn(64 * 30)
    assert mean_true_score(model) > 0.85
    real = env.anchored.real
    assert isinstance(real, Arithmetic)
    # A quarter of the groups, each whole; their executions go out as one batch a step.
    assert sum(real.batches) == 0.25 * 64 * 30
    assert len(real.batches) <= 30
    assert env.correction.version == 30
    assert model.logger is not None


def test_anchors_only_is_the_plain_algorithm_bit_for_bit() -> None:
    wm = GRPO("MlpPolicy", wrapped(16, anchor_fraction=1.0), seed=0).learn(64 * 4)
    plain = GRPO("MlpPolicy", sync(ScriptBandit, 16), seed=0).learn(64 * 4)
    for a, b in zip(wm.policy.parameters(), plain.policy.parameters(), strict=True):
        assert th.equal(a, b)


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    env = wrapped(16)
    whole = GRPO("MlpPolicy", env, seed=0).learn(64 * 3).learn(64 * 3, reset_num_timesteps=False)
    first = wrapped(16)
    GRPO("MlpPolicy", first, seed=0).learn(64 * 3).save(tmp_path / "model")
    second = wrapped(16)
    second.load_state_dict(first.state_dict())
    resumed = GRPO.load(tmp_path / "model", env=second)  # type: ignore[arg-type]  # bridged
    resumed.learn(64 * 3, reset_num_timesteps=False)
    for a, b in zip(whole.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert th.equal(a, b)
    assert second.correction.version == env.correction.version == 6


@pytest.mark.parametrize("algorithm", [GRPO, WeightedPPO])
def test_a_single_environment(algorithm: Any) -> None:
    env = WorldModelRewardWrapper(ScriptBandit(), world_model=Flattering(), anchor_fraction=0.5)
    arguments = {"n_steps": 64} if algorithm is WeightedPPO else {}
    model = algorithm("MlpPolicy", env, seed=0, **arguments)
    model.learn(64 * 2, log_interval=1000)
    assert env.correction.version == 2
    assert any(name.startswith("wmrl/") for name in model.logger.name_to_value)


def test_weighted_ppo_takes_each_episode_as_a_group() -> None:
    env = wrapped(8)
    model = WeightedPPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=0)
    model.learn(8 * 32 * 2)
    real = env.anchored.real
    assert isinstance(real, Arithmetic)
    assert sum(real.batches) == pytest.approx(0.25 * 8 * 32 * 2, abs=8)
    assert env.correction.version == 2
