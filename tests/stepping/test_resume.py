"""A resumed run continues the same stream."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from tests.stepping.toys import ExactDynamics, PointEnv, astray, play, straight
from tests.wrappers.harness import assert_same
from wmrl_gym import WorldModelRewardVectorWrapper, WorldModelRewardWrapper
from wmrl_gym.world_models.dynamics import EnsembleDynamics


def fresh(model: Any) -> WorldModelRewardWrapper:
    return WorldModelRewardWrapper(
        PointEnv(),
        world_model=model,
        anchor_fraction=0.5,
        correction_options={"min_pairs": 10, "warmup_groups": 2},
    )


def episodes(env: WorldModelRewardWrapper, first: int, count: int) -> list[Any]:
    log = []
    for i in range(first, first + count):
        rewards, observations, info = play(env, straight if i % 2 else astray, seed=i)
        info.pop("wmrl/seconds")
        log.append((np.array(rewards), np.stack(observations), info))
        if i % 10 == 9:
            log.append((env.update(),))
            log[-1][0].pop("seconds_real")
            log[-1][0].pop("seconds_model")
    return log


def exact() -> ExactDynamics:
    return ExactDynamics(low=0.1, high=0.6)


def ensemble() -> EnsembleDynamics:
    return EnsembleDynamics(4, 2, members=2, hidden=8, updates=8, online_updates=2)


@pytest.mark.parametrize("model", [exact, ensemble])
def test_state_continues_the_stream(model: Any) -> None:
    through = fresh(model())
    episodes(through, 0, 23)
    resumed = fresh(model())
    resumed.load_state_dict(pickle.loads(pickle.dumps(through.state_dict())))
    assert resumed.correction.version == through.correction.version > 0
    for a, b in zip(episodes(through, 23, 10), episodes(resumed, 23, 10), strict=True):
        for x, y in zip(a, b, strict=True):
            assert_same(x, y, "resumed")


def test_a_state_of_another_size_is_refused() -> None:
    state = fresh(exact()).state_dict()
    env = WorldModelRewardVectorWrapper(SyncVectorEnv([PointEnv] * 2), world_model=exact())
    with pytest.raises(ValueError, match="state has 1 slots, this environment 2"):
        env.load_state_dict(state)


def test_pickle_and_deepcopy() -> None:
    env = fresh(exact())
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        play(twin, straight, seed=1)
        assert twin.env.unwrapped.stepped > 0
        assert twin.anchored.lanes.envs[0] is twin.env
    assert env.unwrapped.stepped == 0
