"""The policy loss of GRPO, as pure functions of tensors."""

from __future__ import annotations

import torch as th


def weighted_surrogate(
    log_ratio: th.Tensor, advantages: th.Tensor, weights: th.Tensor, clip_range: float
) -> th.Tensor:
    """Negative mean of the weighted clipped surrogate objective of PPO.

    The weight multiplies the clipped objective, so it scales the gradient and nothing else.

    Args:
        log_ratio: `[N]` log-probability now minus that of the policy that acted.
        advantages: `[N]` advantages.
        weights: `[N]` loss weights, at least 0.
        clip_range: How far the ratio may count, greater than 0.

    Returns:
        Scalar loss. Equation 7 of https://arxiv.org/abs/1707.06347, times the weights.
    """
    ratio = th.exp(log_ratio)
    clipped = th.clamp(ratio, 1 - clip_range, 1 + clip_range)
    return -(weights * th.min(advantages * ratio, advantages * clipped)).mean()


def kl_estimate(log_prob: th.Tensor, reference_log_prob: th.Tensor) -> th.Tensor:
    """Mean estimate of KL(policy, reference) from the policy's own actions.

    Args:
        log_prob: `[N]` log-probability of the actions under the policy.
        reference_log_prob: `[N]` that under the reference.

    Returns:
        Scalar, at least 0: the mean of `exp(d) - 1 - d` with `d = reference - policy`, as in
        https://arxiv.org/abs/2402.03300, equation 4.
    """
    difference = reference_log_prob - log_prob
    return (th.exp(difference) - 1 - difference).mean()
