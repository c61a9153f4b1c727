from __future__ import annotations

import numpy as np
import torch as th

from wmrl_gym.agents.groups import IDLE
from wmrl_gym.agents.rollout import GroupRollout, Observations


def add(rollout: GroupRollout, value: int, episode: list[int], *, dicts: bool = False) -> None:
    batch = th.full((2, 1), float(value))
    observations: Observations = {"a": batch, "b": batch + 0.5} if dicts else batch
    actions = th.tensor([[value], [-value]])
    rewards = np.array([value, 10 * value], dtype=np.float32)
    rollout.add(observations, actions, th.zeros(2), np.array(episode), rewards)


def test_steps_belong_to_episodes_and_idle_ones_are_dropped() -> None:
    rollout = GroupRollout(np.array([4, 4, 5]))
    add(rollout, 1, [0, 1])
    rollout.finish(1, {"wmrl/weight": 2.5, "wmrl/valid": False})
    add(rollout, 2, [0, 2])
    rollout.finish(0, {})
    assert not rollout.complete
    rollout.finish(2, {"wmrl/weight": 1.5})
    add(rollout, 3, [IDLE, IDLE])
    assert rollout.complete
    batch = rollout.batch()
    assert batch.episodes.tolist() == [0, 1, 0, 2]
    assert batch.actions.flatten().tolist() == [1, -1, 2, -2]
    assert batch.scores.tolist() == [3.0, 10.0, 20.0]
    assert batch.lengths.tolist() == [2, 1, 1]
    assert batch.weights.tolist() == [1.0, 2.5, 1.5]
    assert batch.valid.tolist() == [True, False, True]


def test_dict_observations() -> None:
    rollout = GroupRollout(np.array([0]))
    add(rollout, 1, [0, IDLE], dicts=True)
    add(rollout, 2, [IDLE, 0], dicts=True)
    observations = rollout.batch().observations
    assert isinstance(observations, dict)
    assert observations["a"].flatten().tolist() == [1.0, 2.0]
    assert observations["b"].flatten().tolist() == [1.5, 2.5]
