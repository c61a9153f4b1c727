"""Two ways to tell a reward, and which of them tells an episode's return better.

A step's reward may be learned from the state and the action, and summed over an imagined
episode; but then errors add up. Where rewards are the changes of a potential, such as progress
towards a goal, a state tells itself how much of the return has been gained, and only the error
of the last state counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork, MemberStep
from wmrl_gym.world_models.dynamics.scaling import Scaling


def summed_reward(step: MemberStep, scaling: Scaling) -> torch.Tensor:
    """`[B]` reward of each step, the members' mean."""
    return step.rewards.mean(dim=0) * scaling.reward_spread + scaling.reward_mean


def least_gain(network: DynamicsNetwork, states: torch.Tensor, scaling: Scaling) -> torch.Tensor:
    """`[B, D]` states -> `[B]` return of the episode so far: the least that a member tells.

    An agent looks for the states where the reward errs upwards, and stays there. Seldom do all
    members err upwards in the same place (the idea of the lesser of two critics: Fujimoto et al.
    2018, arXiv 1802.09477).
    """
    return network.gained(states[None], scaling).amin(dim=0)


def gained_reward(
    network: DynamicsNetwork,
    states: torch.Tensor,
    following: torch.Tensor,
    scaling: Scaling,
) -> torch.Tensor:
    """`[B]` how much more of the return the `[B, D]` states `following` tell than `states`."""
    gains = least_gain(network, torch.cat([states, following]), scaling)
    return gains[len(states) :] - gains[: len(states)]


def states_tell_returns(
    network: DynamicsNetwork, scaling: Scaling, episodes: Sequence[EpisodeRecord]
) -> bool:
    """Whether the returns of `[N]` held-out episodes are nearer to what their states tell.

    False without episodes.
    """
    device, errors = scaling.mean.device, []
    with torch.no_grad():
        for episode in episodes:
            states = torch.from_numpy(episode.observations).to(device)
            actions = torch.from_numpy(episode.actions).to(device)
            summed = summed_reward(network.step(states[None, :-1], actions[None], scaling), scaling)
            gained = gained_reward(network, states[:1], states[-1:], scaling)
            errors.append([float(summed.sum()), float(gained)])
    if not errors:
        return False
    true = np.array([[episode.total_reward] for episode in episodes])
    by_sum, by_state = np.square(errors - true).mean(axis=0)
    return bool(by_state < by_sum)
