"""What keeps training from learning episodes by heart."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from tests.world_models.dynamics.double_integrator import ACTIONS, SIZE, record
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.scaling import Scaling
from wmrl_gym.world_models.dynamics.states import StateSampler
from wmrl_gym.world_models.dynamics.training import (
    TrainingPlan,
    balanced_loss,
    gain_loss,
    train_judgement,
    train_motion,
)

PLAN = TrainingPlan(updates=100, batch_size=32, chunk=4, learning_rate=2e-3)
VELOCITY, WAY = (2, 3), (6, 7)
"""Numbers of a state: success depends on the way to the goal alone."""


def network() -> DynamicsNetwork:
    generator = torch.Generator().manual_seed(0)
    return DynamicsNetwork(SIZE, ACTIONS, members=2, hidden=32, generator=generator)


def test_the_loss_by_hand() -> None:
    """One success weighs as much as three failures: (3 log 2 + 3 log 2) / 6."""
    labels = torch.tensor([1.0, 0.0, 0.0, 0.0])[None, :, None]
    loss = balanced_loss(torch.zeros((2, 4, 1)), labels)
    assert loss.tolist() == pytest.approx([np.log(2.0)] * 2)
    # Certain of failure: the success costs 5 in 6 (weights 3, 1, 1, 1), the failures next to 0.
    sure = balanced_loss(torch.full((1, 4, 1), -5.0), labels)
    assert sure.item() == pytest.approx((3 * 5.00672 + 3 * 0.00672) / 6, abs=1e-4)


def test_each_part_is_trained_by_its_own_routine() -> None:
    episodes, members = record(40, seed=0), network()
    scaling, before = Scaling.of(episodes), copy.deepcopy(members.state_dict())
    rng = np.random.default_rng(0)

    def changed() -> set[str]:
        now = members.state_dict()
        return {name.split(".")[0] for name in now if not torch.equal(now[name], before[name])}

    train_judgement(members, scaling, episodes, [], PLAN, rng)
    assert changed() == {"meaning", "gain"}
    members.load_state_dict(before)
    assert np.isnan(train_motion(members, scaling, episodes, [], PLAN, rng))
    assert changed() == {"motion"}


def test_it_ends_at_its_best_on_what_was_held_out() -> None:
    episodes, members = record(40, seed=0), network()
    scaling = Scaling.of(episodes)
    held_out = record(10, seed=1)
    seen = StateSampler(held_out, "cpu").every(4096)
    before = gain_loss(members, scaling, seen).sum().item()
    train_judgement(members, scaling, episodes, held_out, PLAN, np.random.default_rng(0))
    assert gain_loss(members, scaling, seen).sum().item() < 0.5 * before


@pytest.mark.slow
def test_what_says_nothing_of_the_task_is_left_out() -> None:
    episodes, members = record(60, seed=0), network()
    scaling = Scaling.of(episodes)
    train_judgement(
        members,
        scaling,
        episodes,
        [],
        TrainingPlan(updates=500, batch_size=32, chunk=4, learning_rate=2e-3),
        np.random.default_rng(0),
    )
    lengths = members.meaning.weights[0].detach().norm(dim=-1).mean(dim=0)
    assert lengths[list(WAY)].min() > 3.0 * lengths[list(VELOCITY)].max()
