"""The linear part of the motion, by least squares: most of what a few episodes can teach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.scaling import Scaling

_RIDGE = 1.0
"""Of inputs with spread 1: next to nothing, but observations often say the same thing twice."""


def fit_linear(
    network: DynamicsNetwork, scaling: Scaling, episodes: Sequence[EpisodeRecord]
) -> None:
    """Set the linear part of `network` to the ridge regression on `[N]` episodes, N >= 1.

    Its constant goes to the members' output biases, from where training goes on.
    """
    device = network.linear.device

    def joined(arrays: list[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(arrays).astype(np.float32)).to(device)

    states = joined([e.observations[:-1] for e in episodes])
    changes = joined([e.observations[1:] for e in episodes]) - states
    actions = joined([e.actions for e in episodes])
    rewards = joined([e.rewards for e in episodes])
    inputs = torch.cat([scaling.scale(states), scaling.scale_actions(actions)], dim=-1).double()
    centre = inputs.mean(dim=0)
    motion = torch.where(scaling.moving, changes / scaling.step, 0.0)
    paid = (rewards - scaling.reward_mean) / scaling.reward_spread
    targets = torch.cat([motion, paid[:, None]], dim=-1).double()
    ridge = _RIDGE * torch.eye(inputs.shape[1], dtype=torch.float64, device=device)
    centred, mean = inputs - centre, targets.mean(dim=0)
    weights = torch.linalg.solve(centred.T @ centred + ridge, centred.T @ (targets - mean))
    network.linear.copy_(weights.float())
    with torch.no_grad():
        network.motion.biases[-1].copy_((mean - centre @ weights).float())
