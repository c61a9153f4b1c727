"""The linear part of the motion."""

from __future__ import annotations

import numpy as np
import torch

from tests.world_models.dynamics.double_integrator import ACTIONS, SIZE, advance, record
from wmrl_gym.world_models.dynamics.linear_part import fit_linear
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.scaling import Scaling


def test_a_linear_system_is_known_before_any_training() -> None:
    episodes = record(30, seed=0)
    scaling = Scaling.of(episodes)
    network = DynamicsNetwork(
        SIZE, ACTIONS, members=2, hidden=8, generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        network.motion.weights[-1].zero_()  # nothing but the linear part
    fit_linear(network, scaling, episodes)
    fresh = record(5, seed=9)
    states = np.concatenate([episode.observations[:-1] for episode in fresh])
    actions = np.concatenate([episode.actions for episode in fresh])
    step = network.step(torch.from_numpy(states)[None], torch.from_numpy(actions)[None], scaling)
    moved = np.abs(advance(states, actions) - states).mean()
    error = np.abs(step.states.detach().numpy() - advance(states, actions)).mean()
    assert error < 0.02 * moved
