from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import ImaginedStep, imagine, replay


class Counting:
    """A model that adds the action to the state, and knows success at 3 and the end at 5."""

    observation_size = 1
    action_size = 1
    tasks = ("count",)

    def __init__(self) -> None:
        self.batches: list[int] = []

    def step(self, observations: np.ndarray, actions: np.ndarray) -> ImaginedStep:
        self.batches.append(len(observations))
        following = observations + actions
        value = following[:, 0].astype(np.float64)
        return ImaginedStep(
            observations=following.astype(np.float32),
            rewards=2.0 * value,
            success=np.where(value == 3.0, 0.9, 0.1),
            uncertainty=value / 100.0,
            termination=np.where(value >= 5.0, 1.0, 0.0),
        )

    def learn(self, episodes: Sequence[EpisodeRecord]) -> None:
        raise AssertionError("imagination does not teach")

    def ready(self, task: str) -> bool:
        return True

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return None


def test_actions_are_followed_until_the_predicted_end() -> None:
    model = Counting()
    rollout = imagine(model, [[0.0], [4.0], [10.0]], np.ones((3, 4, 1)))
    assert rollout.observations[:, :, 0].tolist() == [
        [0, 1, 2, 3, 4],
        [4, 5, 5, 5, 5],
        [10, 11, 11, 11, 11],
    ]
    once = [True, False, False, False]
    assert rollout.mask.tolist() == [[True] * 4, once, once]
    assert rollout.lengths.tolist() == [4, 1, 1]
    assert rollout.terminated.tolist() == [False, True, True]
    assert rollout.scores.tolist() == [0.9, 0.1, 0.1]
    assert rollout.returns.tolist() == [2.0 * (1 + 2 + 3 + 4), 10.0, 22.0]
    assert model.batches == [3, 1, 1, 1]


def test_masked_steps_are_zero() -> None:
    rollout = imagine(Counting(), [[4.0]], np.ones((1, 3, 1)))
    for name in ("rewards", "success", "uncertainty"):
        assert (getattr(rollout, name)[0, 1:] == 0.0).all()
    assert (rollout.actions[0, 1:] == 0.0).all()


def test_a_policy_is_asked_for_those_that_still_run() -> None:
    asked: list[int] = []

    def policy(observations: np.ndarray) -> np.ndarray:
        asked.append(len(observations))
        return np.full((len(observations), 1), 2.0)

    rollout = imagine(Counting(), [[0.0], [3.0]], policy, horizon=4)
    assert rollout.observations[:, -1, 0].tolist() == [6, 5]
    assert rollout.lengths.tolist() == [3, 1]
    assert asked == [2, 1, 1]


def test_the_threshold_decides_what_is_an_end() -> None:
    rollout = imagine(Counting(), [[4.0]], np.ones((1, 3, 1)), threshold=1.5)
    assert rollout.lengths.tolist() == [3]


class Hazardous(Counting):
    """Every step may be the last, with probability 0.3."""

    def step(self, observations: np.ndarray, actions: np.ndarray) -> ImaginedStep:
        return replace(super().step(observations, actions), termination=np.full(len(actions), 0.3))


def test_doubts_about_the_end_add_up() -> None:
    # 1 - 0.7 = 0.3 after a step, 1 - 0.7^2 = 0.51 after two, and 1 - 0.7^3 = 0.657 after three.
    for threshold, length in ((0.3, 1), (0.5, 2), (0.6, 3), (0.8, 4)):
        rollout = imagine(Hazardous(), [[0.0]], np.ones((1, 4, 1)), threshold=threshold)
        assert rollout.lengths.tolist() == [length]
        assert rollout.surviving == pytest.approx([0.7**length])
        assert rollout.terminated.tolist() == [threshold < 0.8]


def test_recorded_actions_of_different_lengths_go_in_one_batch() -> None:
    model = Counting()
    rollout = replay(model, [[0.0], [1.0]], [np.ones((3, 1)), np.ones((1, 1))])
    assert rollout.lengths.tolist() == [3, 1]
    assert not rollout.terminated.any()
    assert rollout.scores.tolist() == [0.9, 0.1]
    assert model.batches == [2, 1, 1]


def test_nothing_to_imagine() -> None:
    rollout = replay(Counting(), np.zeros((0, 1)), [])
    assert rollout.scores.shape == (0,)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match="horizon=None"):
        imagine(Counting(), [[0.0]], lambda observations: observations)
    with pytest.raises(ValueError, match=r"2 starts need \[2, H, A\]"):
        imagine(Counting(), [[0.0], [1.0]], np.ones((1, 3, 1)))
    with pytest.raises(ValueError, match="horizon=5 exceeds the 3"):
        imagine(Counting(), [[0.0]], np.ones((1, 3, 1)), horizon=5)
