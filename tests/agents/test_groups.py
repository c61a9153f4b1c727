from __future__ import annotations

import numpy as np
import pytest
import torch as th

from wmrl_gym.agents.groups import IDLE, EpisodeSlots, batch_randomness, group_seed


def test_seeds_are_a_pure_function_and_unrelated() -> None:
    assert group_seed(3, 5) == group_seed(3, 5)
    seeds = [group_seed(seed, group) for seed in range(20) for group in range(50)]
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_slots_take_episodes_group_by_group() -> None:
    slots = EpisodeSlots(groups=np.array([7, 8]), group_size=2, num_slots=3)
    assert slots.refill(range(3)) == {7: [0, 1], 8: [2]}
    assert slots.episode.tolist() == [0, 1, 2]
    assert slots.refill([1]) == {8: [1]}
    assert slots.episode.tolist() == [0, 3, 2]


def test_slots_without_an_episode_replay_the_last_group() -> None:
    slots = EpisodeSlots(groups=np.array([7]), group_size=2, num_slots=3)
    assert slots.refill(range(3)) == {7: [0, 1, 2]}
    assert slots.episode.tolist() == [0, 1, IDLE]
    assert slots.refill([0]) == {7: [0]}
    assert slots.episode.tolist() == [IDLE, 1, IDLE]


def test_randomness_of_a_batch() -> None:
    cpu = th.device("cpu")

    def draw(group: int) -> tuple[float, float]:
        with batch_randomness(1, group, cpu) as rng:
            return th.rand(1).item(), rng.random()

    th.manual_seed(0)
    before = th.get_rng_state()
    assert draw(0) == draw(0)
    assert draw(0) != draw(8)
    assert th.equal(th.get_rng_state(), before)


def test_negative_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        group_seed(-1, 0)
