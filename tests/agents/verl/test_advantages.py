"""Advantages and losses of verl itself: weights are what they should be, and exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from verl.trainer.ppo import core_algos
from verl.utils.config import omega_conf_to_dataclass

from tests.agents.verl.configuration import configuration
from wmrl_gym.agents.verl.options import LOSS_MODES
from wmrl_gym.agents.verl.weights import batch_weights

pytestmark = pytest.mark.verl

GROUPS = np.array([0, 0, 0, 1, 1, 1])
SCORES = torch.tensor([0.2, 0.4, 0.9, 0.1, 0.1, 0.7])
MASK = torch.ones(6, 5)
MASK[:, 2] = 0.0  # what the environment said
MASK[3:, 4] = 0.0


def advantages(weights: np.ndarray[Any, Any] | None = None) -> torch.Tensor:
    rewards = torch.zeros(6, 5)
    rewards[:, 3] = SCORES
    normalised, _ = core_algos.compute_grpo_outcome_advantage(rewards, MASK, GROUPS)
    factor = torch.ones(6) if weights is None else torch.from_numpy(weights).float()
    return normalised * factor[:, None]


def test_hand_computed_numbers() -> None:
    weights = batch_weights(GROUPS.tolist(), [3.0, 3.0, 3.0, 1.0, 1.0, 1.0], [True] * 6)
    assert weights.tolist() == [1.5, 1.5, 1.5, 0.5, 0.5, 0.5]
    found = advantages(weights)
    # Group 0: mean 0.5, deviation sqrt((0.09 + 0.01 + 0.16) / 2) = 0.360555.
    # Group 1: mean 0.3, deviation sqrt((0.04 + 0.04 + 0.16) / 2) = 0.346410.
    expected = [-1.248075, -0.416025, 1.664101, -0.288675, -0.288675, 0.577350]
    assert found[:, 0].tolist() == pytest.approx(expected, abs=1e-5)
    assert (found[:, 2] == 0).all()


def gradient(loss_mode: str, weighted: torch.Tensor, aggregation: str) -> torch.Tensor:
    """Of a policy with one parameter for each token, far from the one that sampled."""
    section = configuration().actor_rollout_ref.actor
    section.policy_loss.loss_mode = loss_mode
    section.loss_agg_mode = aggregation
    section.ppo_micro_batch_size_per_gpu = 6
    actor: Any = omega_conf_to_dataclass(section)
    generator = torch.Generator().manual_seed(3)
    old = -1.0 - torch.rand(6, 5, generator=generator)
    now = (old + 0.6 * torch.randn(6, 5, generator=generator)).requires_grad_()
    loss, _ = core_algos.get_policy_loss_fn(loss_mode)(
        old_log_prob=old,
        log_prob=now,
        advantages=weighted,
        response_mask=MASK,
        loss_agg_mode=aggregation,
        config=actor,
        rollout_is_weights=None,
    )
    loss.backward()
    assert now.grad is not None
    return now.grad.double()


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-mean"])
@pytest.mark.parametrize("loss_mode", LOSS_MODES)
def test_the_gradient_is_the_weighted_sum_of_the_groups(loss_mode: str, aggregation: str) -> None:
    weights = batch_weights(GROUPS.tolist(), [2.5] * 3 + [1.0] * 3, [True] * 6)
    plain = advantages()
    parts = []
    for group in (0, 1):
        only = torch.from_numpy(group == GROUPS).float()[:, None]
        parts.append(gradient(loss_mode, plain * only, aggregation))
    expected = weights[0] * parts[0] + weights[-1] * parts[1]
    found = gradient(loss_mode, advantages(weights), aggregation)
    assert min(part.norm() for part in parts) > 1e-4
    assert (found - expected).norm() / expected.norm() < 1e-6


@pytest.mark.parametrize("loss_mode", ["clip_cov", "kl_cov"])
def test_losses_that_pick_tokens_by_the_size_of_advantages_are_refused(loss_mode: str) -> None:
    assert loss_mode not in LOSS_MODES
