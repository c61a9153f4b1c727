"""Wrong arguments, environments and world models are refused, and named."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TransformAction

from tests.wrappers.harness import make, toy, wrapped_toy
from tests.wrappers.toys import CountingEnv, SquareWorldModel
from wmrl_gym import (
    BatchedExecution,
    Outcome,
    Source,
    Status,
    WorldModelRewardVectorWrapper,
    WorldModelRewardWrapper,
)
from wmrl_gym.errors import UnsupportedEnvironmentError, WorldModelError


def test_an_action_wrapper_below_the_batch_is_refused_when_it_changes_an_action() -> None:
    def factory() -> gym.Env[Any, Any]:
        return TransformAction(CountingEnv(), lambda a: (a + 1) % 4, gym.spaces.Discrete(5))

    env = BatchedExecution(SyncVectorEnv([factory]))
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="apply action wrappers to the vector environment"):
        env.step(np.array([1]))
    env.close()


def test_no_wrapper_in_a_wrapper() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="already"):
        WorldModelRewardWrapper(
            RecordEpisodeStatistics(wrapped_toy(0)), world_model=SquareWorldModel()
        )
    vector = WorldModelRewardVectorWrapper(
        make("sync", toy, AutoresetMode.NEXT_STEP), world_model=SquareWorldModel()
    )
    with pytest.raises(UnsupportedEnvironmentError, match="already"):
        WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"anchor_fraction": 1.5}, r"fraction must lie in \[0, 1\], got 1.5"),
        ({"anchor_fraction": float("nan")}, r"fraction must lie in \[0, 1\], got nan"),
        ({"world_model": "no-such-model"}, "world_model='no-such-model'"),
        ({"first_group": -1}, "first_group=-1"),
        ({"group_stride": 0}, "group_stride=0"),
    ],
)
def test_bad_arguments_are_named_and_leave_the_environment_as_it_was(
    arguments: dict[str, Any], message: str
) -> None:
    env = CountingEnv()
    executor = env.executor
    with pytest.raises(ValueError, match=message):
        WorldModelRewardWrapper(env, **{"world_model": SquareWorldModel(), **arguments})
    assert env.executor is executor


def test_environments_without_an_executor_are_refused() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="no executor"):
        WorldModelRewardWrapper(gym.make("CartPole-v1"), world_model=SquareWorldModel())
    with pytest.raises(UnsupportedEnvironmentError, match="no executor"):
        WorldModelRewardVectorWrapper(
            SyncVectorEnv([lambda: gym.make("CartPole-v1")]), world_model=SquareWorldModel()
        )


class BadWorldModel(SquareWorldModel):
    """Breaks the contract in a way of one's choice."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def execute(self, executions: Any) -> list[Outcome]:
        score = {"nan": float("nan"), "high": 1.5}.get(self.how, 0.5)
        outcomes = [Outcome(Status.COMPLETED, score, source=Source.PREDICTED) for _ in executions]
        return outcomes + outcomes if self.how == "length" else outcomes


@pytest.mark.parametrize("how", ["nan", "high", "length"])
def test_a_world_model_that_breaks_its_contract_is_named(how: str) -> None:
    env = WorldModelRewardWrapper(CountingEnv(), world_model=BadWorldModel(how))
    env.reset()
    with pytest.raises(WorldModelError, match="BadWorldModel"):
        env.step(1)


def test_a_failed_prediction_has_no_score() -> None:
    class Silent(SquareWorldModel):
        def execute(self, executions: Any) -> list[Outcome]:
            return [Outcome.unscored("did not parse", Source.PREDICTED) for _ in executions]

    env = WorldModelRewardWrapper(CountingEnv(), world_model=Silent(), anchor_fraction=0.0)
    env.reset()
    _, reward, _, _, info = env.step(1)
    assert (reward, info["wmrl/valid"]) == (0.0, False)
    assert np.isnan(info["wmrl/score_calibrated"])


def test_stepping_before_reset_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="reset"):
        wrapped_toy(0).step(1)
