from __future__ import annotations

import math

import pytest
import torch as th

from wmrl_gym.agents.loss import kl_estimate, weighted_surrogate


def test_surrogate_by_hand() -> None:
    # Ratios 2, 0.5, 1.1 under clipping to [0.8, 1.2].
    log_ratio = th.tensor([2.0, 0.5, 1.1]).log()
    advantages = th.tensor([1.0, -1.0, 3.0])
    weights = th.tensor([0.5, 2.0, 0.5])
    # min(2, 1.2) = 1.2; min(-0.5, -0.8) = -0.8; min(3.3, 3.3) = 3.3.
    expected = -(0.5 * 1.2 + 2.0 * -0.8 + 0.5 * 3.3) / 3
    loss = weighted_surrogate(log_ratio, advantages, weights, 0.2)
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_weights_of_one_change_no_bit() -> None:
    generator = th.Generator().manual_seed(0)
    log_ratio, advantages = th.randn(2, 100, generator=generator)
    ratio = log_ratio.exp()
    plain = -th.min(advantages * ratio, advantages * ratio.clamp(0.8, 1.2)).mean()
    assert th.equal(weighted_surrogate(log_ratio, advantages, th.ones(100), 0.2), plain)


def test_the_weight_scales_the_gradient() -> None:
    log_ratio = th.zeros(2, requires_grad=True)
    weighted_surrogate(log_ratio, th.tensor([1.0, 1.0]), th.tensor([3.0, 1.0]), 0.2).backward()
    assert log_ratio.grad is not None
    assert log_ratio.grad.tolist() == [-1.5, -0.5]


def test_kl_by_hand() -> None:
    policy, reference = th.tensor([0.0, -1.0]), th.tensor([0.0, -2.0])
    expected = (0.0 + (math.exp(-1.0) - 1 + 1)) / 2
    assert kl_estimate(policy, reference).item() == pytest.approx(expected, rel=1e-6)
