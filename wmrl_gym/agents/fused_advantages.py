"""What each episode of a batch counts in the loss: its advantage, and its weight."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.agents.rollout import GroupBatch
from wmrl_gym.correction import group_advantages, normalized_weights

Array = NDArray[np.float64]


def fused_advantages(
    batch: GroupBatch, *, normalize: Literal["std", "center"]
) -> tuple[Array, Array]:
    """Return the advantages and the loss weights of a batch.

    By inverse variance: group-relative advantages, and weights of mean 1. Prediction-powered:
    the advantages carry their coefficients, which sum to 1 over many batches, and are not
    normalised in each: a batch that happens to have no anchor must not count for more. It shows by
    a `wmrl/control`, or by a weight below 1, which inverse variance never gives.

    Args:
        batch: What was collected.
        normalize: As in `group_advantages`.

    Returns:
        `[E]` advantages and `[E]` weights; both 0 for episodes without a score.
    """
    own = group_advantages(batch.scores, batch.groups, valid=batch.valid, normalize=normalize)
    powered = batch.controls.any() or (batch.weights[batch.valid] < 1.0).any()
    if not powered:
        return own, normalized_weights(batch.weights, valid=batch.valid)
    known = batch.valid & ~np.isnan(batch.calibrated)
    predicted = group_advantages(
        np.where(known, batch.calibrated, 0.0), batch.groups, valid=known, normalize=normalize
    )
    return batch.weights * own + batch.controls * predicted, batch.valid.astype(np.float64)
