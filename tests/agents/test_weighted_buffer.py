from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer

from wmrl_gym.agents.weighted_buffer import (
    WeightedDictRolloutBuffer,
    WeightedRolloutBuffer,
    weighted_normalization,
)

SPACE = spaces.Box(-1.0, 1.0, (1,), np.float32)
REWARDS = np.array([[1.0, 2.0], [0.0, 5.0], [4.0, -1.0]], dtype=np.float32)
VALUES = np.array([[0.5, 0.1], [0.2, 0.3], [-0.4, 0.0]], dtype=np.float32)
DONES = np.array([[False, True], [True, False], [False, False]])


def fill(buffer: RolloutBuffer, infos: list[list[dict[str, Any]]]) -> None:
    """Three steps of two environments."""
    starts = np.array([True, True])
    for row in range(3):
        if isinstance(buffer, WeightedRolloutBuffer):
            buffer.weigh(infos[row], DONES[row])
        buffer.add(
            np.zeros((2, 1)),
            np.zeros((2, 1)),
            REWARDS[row],
            starts,
            th.as_tensor(VALUES[row]),
            th.zeros(2),
        )
        starts = DONES[row]
    buffer.compute_returns_and_advantage(th.tensor([0.3, 0.6]), DONES[2])


def make(kind: type[RolloutBuffer]) -> Any:
    return kind(3, SPACE, SPACE, device="cpu", gamma=0.9, gae_lambda=0.8, n_envs=2)


def infos(weights: list[list[float]]) -> list[list[dict[str, Any]]]:
    return [[{"wmrl/weight": w} for w in row] for row in weights]


def test_normalisation_by_hand() -> None:
    # Weights 1, 1, 4 have the mean 2: relative 0.5, 0.5, 2.
    # Mean (0.5 * 1 + 0.5 * 3 + 2 * 4) / 3 = 10 / 3; squares 49/9, 1/9, 4/9.
    advantages = np.array([1.0, 3.0, 4.0], dtype=np.float32)
    std = np.sqrt((0.5 * 49 + 0.5 * 1 + 2 * 4) / 9 / 2)
    expected = np.array([0.5 * -7 / 3, 0.5 * -1 / 3, 2 * 2 / 3]) / std
    result = weighted_normalization(advantages, np.array([1.0, 1.0, 4.0], dtype=np.float32))
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("weight", [1.0, 1.3, 7.0])
def test_equal_weights_normalise_as_stable_baselines3_does(weight: float) -> None:
    advantages = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    tensor = th.as_tensor(advantages)
    expected = (tensor - tensor.mean()) / (tensor.std() + 1e-8)
    weights = np.full((8, 3), weight, dtype=np.float32)
    result = weighted_normalization(advantages, weights)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-6)
    ones = np.ones((8, 3), dtype=np.float32)
    assert result.tobytes() == weighted_normalization(advantages, ones).tobytes()


def test_no_weight_at_all_gives_zeros() -> None:
    assert (
        weighted_normalization(np.ones(3, np.float32), np.zeros(3, np.float32)).tolist()
        == [0.0] * 3
    )


def test_targets_stay_and_advantages_are_weighed() -> None:
    plain, weighed = make(RolloutBuffer), make(WeightedRolloutBuffer)
    weights = np.array([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]], dtype=np.float32)
    fill(plain, infos(weights.tolist()))
    fill(weighed, infos(weights.tolist()))
    assert weighed.weights.tolist() == weights.tolist()
    assert weighed.returns.tolist() == plain.returns.tolist()
    expected = weighted_normalization(plain.advantages, weights)
    assert weighed.advantages.tolist() == expected.tolist()


def test_invalid_episodes_teach_nothing() -> None:
    buffer = make(WeightedRolloutBuffer)
    marks: list[list[dict[str, Any]]] = [[{}, {}], [{"wmrl/valid": False}, {}], [{}, {}]]
    fill(buffer, marks)
    assert buffer.weights.tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    assert buffer.advantages[:2, 0].tolist() == [0.0, 0.0]
    assert buffer.returns[:2, 0].tolist() == buffer.values[:2, 0].tolist()
    # The others are normalised among themselves, to a mean weight of 1 over the rollout.
    plain = make(RolloutBuffer)
    fill(plain, marks)
    kept = plain.advantages[buffer.weights > 0]
    assert np.average(buffer.advantages) == pytest.approx(0.0, abs=1e-6)
    centred = kept - kept.mean()
    ratio = buffer.advantages[buffer.weights > 0] / centred
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


def test_validity_counts_at_the_end_of_an_episode_only() -> None:
    buffer = make(WeightedRolloutBuffer)
    fill(buffer, [[{"wmrl/valid": False}, {}], [{}, {}], [{"wmrl/valid": False}, {}]])
    assert buffer.weights.min() == 1.0


def test_reset_forgets_the_weights() -> None:
    buffer = make(WeightedRolloutBuffer)
    fill(buffer, infos([[2.0, 2.0]] * 3))
    buffer.reset()
    assert buffer.weights.tolist() == [[1.0, 1.0]] * 3


def test_dict_twin() -> None:
    space = spaces.Dict({"a": SPACE})
    buffer = WeightedDictRolloutBuffer(2, space, SPACE, device="cpu", n_envs=1)
    for weight in (1.0, 3.0):
        buffer.weigh([{"wmrl/weight": weight}], np.array([False]))
        buffer.add(
            {"a": np.zeros((1, 1))},
            np.zeros((1, 1)),
            np.array([weight]),
            np.array([False]),
            th.zeros(1),
            th.zeros(1),
        )
    buffer.compute_returns_and_advantage(th.zeros(1), np.array([True]))
    assert buffer.weights.flatten().tolist() == [1.0, 3.0]
    assert buffer.advantages.sum() == pytest.approx(0.0, abs=1e-6)
    (sample,) = buffer.get(2)
    assert sample.observations["a"].shape == (2, 1)
