"""Group-relative advantages (GRPO, eq. 1) and loss weights with mean 1.

Both treat "no score" alike: such a member is left out of its group's mean and standard
deviation, and has the advantage 0 and the weight 0 (D9). Weights multiply the advantages,
or the loss, after this normalisation, which would cancel a weight on the scores (D15).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    as_groups,
    as_mask,
    as_scores,
    require_numbers,
    require_same_length,
)

ROUNDING = 1e-9
"""A group's spread below this share of its largest score is rounding, not signal."""


def group_advantages(
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    valid: npt.ArrayLike | None = None,
    normalize: Literal["std", "center"] = "std",
    eps: float = 1e-4,
) -> FloatArray:
    """Return how much better each episode did than its group: A = (r - mean) / (std + eps).

    Exactly 0 for members without a score, and in groups that give no signal: fewer than two
    scored members, or scores that are equal up to rounding (D8).

    Args:
        scores: `[B]` scores of episodes, predictions calibrated; NaN where there is none.
        groups: `[B]` int, group ids; members of a group need not be adjacent.
        valid: `[B]` bool, which episodes have a score; by default those that are not NaN.
        normalize: "std" divides by the group's population standard deviation (GRPO);
            "center" does not, so that the size of score differences counts (D7).
        eps: Added to the standard deviation, in units of the score. Groups whose spread is
            below it get small advantages instead of blown-up ones (D8); raise it to damp
            groups that differ by less than the world model's error.

    Returns:
        `[B]` float64.

    Raises:
        ValueError: If the lengths differ, a valid score is NaN, `eps < 0`, or `normalize` is
            neither of the two.

    Examples:
        >>> group_advantages([0.0, 1.0, 0.3], [7, 7, 8], eps=0.0)
        array([-1.,  1.,  0.])
    """
    if normalize not in ("std", "center"):
        raise ValueError(f"normalize must be 'std' or 'center', got {normalize!r}")
    if not eps >= 0.0:
        raise ValueError(f"eps must not be negative, got {eps!r}")
    spread = _spread_in_groups(scores, groups, valid)
    scale = spread.std + eps if normalize == "std" else np.ones_like(spread.std)
    usable = spread.valid & spread.signal[spread.member]
    advantages = np.zeros(len(usable))
    advantages[usable] = spread.centred[usable] / scale[spread.member[usable]]
    return advantages


def degenerate_groups(
    scores: npt.ArrayLike, groups: npt.ArrayLike, *, valid: npt.ArrayLike | None = None
) -> IntArray:
    """Return the ids of the groups that give no advantage, to be counted and reported (D8).

    Args:
        scores: `[B]` scores; NaN where there is none.
        groups: `[B]` int, group ids.
        valid: `[B]` bool, which episodes have a score; by default those that are not NaN.

    Returns:
        `[D]` int64, increasing: groups with fewer than two scored members or without spread.

    Raises:
        ValueError: As `group_advantages`.
    """
    spread = _spread_in_groups(scores, groups, valid)
    return spread.ids[~spread.signal]


def normalized_weights(weights: npt.ArrayLike, *, valid: npt.ArrayLike | None = None) -> FloatArray:
    """Return `weights` divided by their mean, so that the step size stays as it was (D14).

    Args:
        weights: `[B]` loss weights >= 0.
        valid: `[B]` bool, which entries count; by default all.

    Returns:
        `[B]` float64 with mean 1 over the valid entries and 0 elsewhere. Equal weights, as in
        a batch of anchors only, give exactly 1.0: the plain algorithm, bit for bit.

    Raises:
        ValueError: If the lengths differ, or a valid weight is negative or not finite, or
            all are 0.
    """
    weights = as_scores("weights", weights)
    counted = np.ones(len(weights), dtype=np.bool_) if valid is None else as_mask("valid", valid)
    require_same_length(weights=weights, valid=counted)
    kept = weights[counted]
    if kept.size == 0:
        return np.zeros(len(weights))
    if not np.isfinite(kept).all() or kept.min() < 0.0 or kept.max() == 0.0:
        raise ValueError(f"weights must be finite, >= 0 and not all 0, got {kept.tolist()!r}")
    normalized = np.zeros(len(weights))
    # The mean of equal numbers can be off by a bit, and 1.0 must be 1.0.
    normalized[counted] = 1.0 if kept.min() == kept.max() else kept / kept.mean()
    return normalized


class _Spread(NamedTuple):
    """Scores around the means of their groups."""

    ids: IntArray  # [M] group ids, increasing
    member: IntArray  # [B] row of `ids` that each episode belongs to
    valid: BoolArray  # [B] which episodes have a score
    centred: FloatArray  # [B] score minus the mean of its group, 0 where not valid
    std: FloatArray  # [M] population standard deviation
    signal: BoolArray  # [M] whether the group tells its members apart


def _spread_in_groups(
    scores: npt.ArrayLike, groups: npt.ArrayLike, valid: npt.ArrayLike | None
) -> _Spread:
    scores, groups = as_scores("scores", scores), as_groups("groups", groups)
    scored = ~np.isnan(scores) if valid is None else as_mask("valid", valid)
    require_same_length(scores=scores, groups=groups, valid=scored)
    require_numbers("scores", scores[scored])
    ids, member = np.unique(groups, return_inverse=True)

    known = np.where(scored, scores, 0.0)
    count = np.bincount(member, weights=scored, minlength=len(ids))
    per_member = np.maximum(count, 1.0)  # a group without a score has the sums 0 and needs no mean
    mean = np.bincount(member, weights=known, minlength=len(ids)) / per_member
    centred = np.where(scored, scores - mean[member], 0.0)
    std = np.sqrt(np.bincount(member, weights=centred**2, minlength=len(ids)) / per_member)

    largest = np.zeros(len(ids))
    np.maximum.at(largest, member, np.abs(known))
    signal = (count >= 2) & (std > ROUNDING * largest)
    return _Spread(ids, member, scored, centred, std, signal)
