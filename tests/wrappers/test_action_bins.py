from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import ActionBins
from wmrl_gym.wrappers.action_chunks import ActionChunk


def make(bins: int = 5, chunk: int = 2) -> ActionBins:
    return ActionBins(ActionChunk(gym.make("Pendulum-v1"), size=chunk), bins=bins)


def test_values_and_tokens_by_hand() -> None:
    env = make()
    assert env.action_space == gym.spaces.MultiDiscrete([5, 5])
    np.testing.assert_array_equal(env.action([0, 3]), np.array([[-2.0], [1.0]], np.float32))
    np.testing.assert_array_equal(env.encode([[-7.0], [0.4]]), [0, 2])


def test_tokens_survive_the_round_trip() -> None:
    env = make(bins=33)
    for tokens in np.random.default_rng(0).integers(33, size=(50, 2)):
        np.testing.assert_array_equal(env.encode(env.action(tokens)), tokens)


def test_an_odd_number_of_bins_can_hold_still() -> None:
    assert make(bins=33).action([16, 16]).tolist() == [[0.0], [0.0]]


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_environment_passes_the_check() -> None:
    check_env(make(), skip_render_check=True)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="bins=1"):
        make(bins=1)
    with pytest.raises(UnsupportedEnvironmentError, match="bounded Box"):
        ActionBins(gym.make("CartPole-v1"))
