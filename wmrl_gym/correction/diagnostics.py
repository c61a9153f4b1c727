"""How good the world model is where it matters: inside groups.

Differences between tasks are easy to predict and would flatter every figure here, while a
group-relative advantage sees none of them (D10). All figures therefore compare members of
one group, and are NaN where no group can say anything.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from wmrl_gym.correction.advantages import group_advantages
from wmrl_gym.correction.checks import (
    FloatArray,
    as_groups,
    as_scores,
    require_numbers,
    require_same_length,
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
    predicted, true = as_scores("predicted", predicted), as_scores("true", true)
    groups = as_groups("groups", groups)
    require_same_length(predicted=predicted, true=true, groups=groups)
    require_numbers("predicted", predicted)
    require_numbers("true", true)
    members = [groups == group for group in np.unique(groups)]
    ranked = [_spearman(predicted[m], true[m]) for m in members if np.ptp(true[m]) > 0.0]
    return float(np.mean(ranked)) if ranked else np.nan


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


def _spearman(a: FloatArray, b: FloatArray) -> float:
    if np.ptp(a) == 0.0:
        return 0.0
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
