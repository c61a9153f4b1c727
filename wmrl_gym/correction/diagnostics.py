"""How good the world model is where it matters: inside groups.

Differences between tasks are easy to predict and would flatter every figure here, while a
group-relative advantage sees none of them (D10). All figures therefore compare members of
one group, and are NaN where no group can say anything.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.advantages import group_advantages
from wmrl_gym.correction.checks import (
    FloatArray,
    IntArray,
    as_scores,
    checked_pairs,
    require_numbers,
)


def rank_correlation(predicted: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    """Return the mean over groups of Spearman's rank correlation of predicted and true scores.

    What the correction cannot mend: a monotone map keeps the order, so if this falls, only
    more anchors help (D20).

    Args:
        predicted: `[N]` predicted scores, calibrated or not.
        true: `[N]` true scores of the same episodes.
        groups: `[N]` int, group ids.

    Returns:
        A number in [-1, 1]. Groups whose true scores are all equal are left out, for they have
        no order; one whose predictions are all equal counts as 0. NaN if no group is left.

    Raises:
        ValueError: If the lengths differ or a score is NaN.
    """
    by_group = rank_correlations(predicted, true, groups)
    ranked = by_group[~np.isnan(by_group)]
    return float(ranked.mean()) if ranked.size else np.nan


def rank_correlations(
    predicted: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike
) -> FloatArray:
    """Return Spearman's rank correlation of predicted and true scores in each group.

    Args:
        predicted: `[N]` predicted scores.
        true: `[N]` true scores.
        groups: `[N]` int, group ids.

    Returns:
        `[G]` in [-1, 1], in the order of the ids. Equal scores share their mean rank. A group
        whose true scores are all equal has no order: NaN. One whose predictions are all equal
        has 0.

    Raises:
        ValueError: If the lengths differ or a score is NaN.

    Examples:
        >>> rank_correlations([0.1, 0.2, 0.5, 0.5], [0.3, 0.9, 0.4, 0.4], [0, 0, 1, 1]).round(6)
        array([ 1., nan])
    """
    predicted, true, groups = checked_pairs(predicted, true, groups)
    _, member = np.unique(groups, return_inverse=True)
    told, real = _centred_ranks(predicted, member), _centred_ranks(true, member)
    covariance = np.bincount(member, weights=told * real)
    # Ranks are multiples of one half: their sums are exact, and 0 only where all are equal.
    told_spread, real_spread = (np.bincount(member, weights=ranks**2) for ranks in (told, real))
    product = np.sqrt(told_spread * real_spread)
    correlation: FloatArray = np.zeros_like(product)
    np.divide(covariance, product, out=correlation, where=product > 0.0)
    correlation[real_spread == 0.0] = np.nan
    return correlation


def bias_reduction(
    predicted: npt.ArrayLike,
    calibrated: npt.ArrayLike,
    true: npt.ArrayLike,
    groups: npt.ArrayLike,
) -> float:
    """Return the share of the squared error within groups that the map removed.

    Scores are centred on the mean of their group, so that an offset that all members share,
    which no advantage sees, counts for nothing. One ratio of sums: the mean of the groups'
    ratios would be ruled by those with next to no error (D6).

    Args:
        predicted: `[N]` scores of the world model.
        calibrated: `[N]` the same, after a map that was fitted without these pairs.
        true: `[N]` true scores of the same episodes.
        groups: `[N]` int, group ids.

    Returns:
        At most 1 (all of it); 0 for none, negative if the map did harm; NaN if there was no
        error to begin with.

    Raises:
        ValueError: If the lengths differ or a score is NaN.
    """
    before = _squared_error_within(predicted, true, groups)
    after = _squared_error_within(calibrated, true, groups)
    return 1.0 - after / before if before > 0.0 else np.nan


def _squared_error_within(
    scores: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike
) -> float:
    errors = as_scores("scores", scores) - as_scores("true", true)
    require_numbers("scores and true", errors)
    return float((group_advantages(errors, groups, normalize="center") ** 2).sum())


def _centred_ranks(scores: FloatArray, member: IntArray) -> FloatArray:
    """`[N]` ranks of scores within their group less the group's mean rank; ties share theirs.

    All groups at once: this runs in every update, where one call for each group would be most
    of the correction's time.
    """
    order = np.lexsort((scores, member))
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    ordered, of = scores[order], member[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]) | (of[1:] != of[:-1])
    tie = np.empty(len(order), dtype=np.int64)
    tie[order] = np.cumsum(begins) - 1
    return _means(place, tie)[tie] - _means(place, member)[member]


def _means(values: FloatArray, part: IntArray) -> FloatArray:
    means: FloatArray = np.bincount(part, weights=values) / np.bincount(part)
    return means
