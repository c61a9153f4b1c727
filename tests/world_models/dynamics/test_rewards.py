"""Rewards of steps, or changes of what a state tells of the return."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.world_models.dynamics.double_integrator import ACTIONS, SIZE, record
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import EnsembleDynamics, replay
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.rewards import (
    gained_reward,
    least_gain,
    states_tell_returns,
)
from wmrl_gym.world_models.dynamics.scaling import Scaling


def height(states: np.ndarray) -> np.ndarray:
    """`[..., 10]` states -> a potential of the position."""
    return np.tanh(3.0 * states[..., 0]) * states[..., 1]


def climbing(episode: EpisodeRecord) -> EpisodeRecord:
    """The same episode, rewarded by the change of the potential."""
    return replace(episode, rewards=np.diff(height(episode.observations).astype(np.float64)))


def effort(episode: EpisodeRecord) -> EpisodeRecord:
    """The same episode, where what is paid is the push, whichever way."""
    return replace(episode, rewards=np.square(episode.actions).sum(axis=1, dtype=np.float64))


def network() -> DynamicsNetwork:
    generator = torch.Generator().manual_seed(0)
    return DynamicsNetwork(SIZE, ACTIONS, members=2, hidden=8, generator=generator)


def test_gains_add_up_to_the_difference_of_the_ends() -> None:
    scaling = Scaling.of(record(10, seed=0))
    states = torch.from_numpy(record(1, seed=1)[0].observations)
    members = network()
    steps = gained_reward(members, states[:-1], states[1:], scaling).sum()
    whole = gained_reward(members, states[:1], states[-1:], scaling)[0]
    torch.testing.assert_close(steps, whole, atol=1e-5, rtol=1e-5)


def test_members_that_disagree_tell_the_least() -> None:
    scaling = Scaling.of(record(10, seed=0))
    states = torch.from_numpy(record(1, seed=1)[0].observations)
    members = network()
    each = members.gained(states[None], scaling)
    assert (each[0] < each[1]).any()
    assert (each[0] > each[1]).any()
    assert torch.equal(least_gain(members, states, scaling), torch.minimum(each[0], each[1]))


def test_without_episodes_steps_are_believed() -> None:
    assert not states_tell_returns(network(), Scaling.of(record(10, seed=0)), [])


def test_what_was_told_before_is_forgotten_when_the_model_learns() -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, hidden=8, members=2, updates=2, online_updates=2)
    episodes = [climbing(episode) for episode in record(30, seed=0)]
    model.learn(episodes[:24])
    model._states_tell_returns = True
    states, actions = episodes[0].observations[:-1], episodes[0].actions
    following = model.step(states, actions).observations
    again = model.step(following, actions).rewards
    fresh = EnsembleDynamics(SIZE, ACTIONS, hidden=8, members=2, updates=2, online_updates=2)
    fresh.load_state_dict(model.state_dict())
    assert np.array_equal(fresh.step(following, actions).rewards, again)
    model.learn(episodes[24:])
    model._states_tell_returns = True
    assert not np.array_equal(model.step(following, actions).rewards, again)


@pytest.mark.slow
@pytest.mark.parametrize(("rewarded", "by_state"), [(climbing, True), (effort, False)])
def test_the_way_that_tells_returns_better_is_taken(rewarded: object, by_state: bool) -> None:
    episodes = [rewarded(episode) for episode in record(120, seed=0)]  # type: ignore[operator]  # one of the two above
    model = EnsembleDynamics(SIZE, ACTIONS, hidden=64, members=2, updates=300).fit(episodes)
    assert model.state_dict()["states_tell_returns"] is by_state
    fresh = [rewarded(episode) for episode in record(40, seed=5)]  # type: ignore[operator]  # as above
    starts = np.stack([episode.observations[0] for episode in fresh])
    told = replay(model, starts, [episode.actions for episode in fresh], threshold=2.0).returns
    true = np.array([episode.total_reward for episode in fresh])
    assert np.corrcoef(told, true)[0, 1] > 0.85
