"""How good predictions are, measured against real outcomes, and how sure that is.

`diagnostics` watches one world model while it is in use. Here are the figures of a study: what
they are for each group, so that groups can be resampled; how well probabilities and scores mean
what they say; and the debiasing map measured on pairs that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from wmrl_gym.correction.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    as_bounds,
    as_mask,
    as_scores,
    checked_pairs,
    require_numbers,
    require_same_length,
)
from wmrl_gym.correction.debiasing import IsotonicDebiaser


def pair_accuracies(
    predicted: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike
) -> FloatArray:
    """Return the share of pairs of members of each group whose order is predicted right.

    Args:
        predicted: `[N]` predicted scores.
        true: `[N]` true scores.
        groups: `[N]` int, group ids.

    Returns:
        `[G]` in [0, 1], in the order of the ids: over the pairs with different true scores, of
        which equal predictions count one half. NaN where there is no such pair.
    """
    predicted, true, groups = checked_pairs(predicted, true, groups)
    of_groups = [groups == group for group in np.unique(groups)]
    return np.array([_pair_accuracy(predicted[m], true[m]) for m in of_groups])


def detection_auc(probability: npt.ArrayLike, occurred: npt.ArrayLike) -> float:
    """Return the area under the ROC curve of a predicted probability.

    It is the probability that the prediction is larger for a case where the event occurred than
    for one where it did not, equal ones counted one half (Mann-Whitney).

    Args:
        probability: `[N]` predicted probabilities of the event.
        occurred: `[N]` bool, whether it occurred.

    Returns:
        A number in [0, 1]; 0.5 for what any constant reaches. NaN if it always or never
        occurred.
    """
    probability, occurred = as_scores("probability", probability), as_mask("occurred", occurred)
    require_same_length(probability=probability, occurred=occurred)
    require_numbers("probability", probability)
    positives, negatives = int(occurred.sum()), int((~occurred).sum())
    if not positives or not negatives:
        return float("nan")
    ranks = float(rankdata(probability)[occurred].sum())
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives)


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of about one size, and what came of them."""

    low: float
    high: float
    """Predictions in [low, high); the last bin includes its end."""
    count: int
    predicted: float
    """Mean prediction; NaN if there is none."""
    true: float
    """Mean of what came; NaN if there is none."""


def reliability(
    predicted: npt.ArrayLike,
    true: npt.ArrayLike,
    *,
    bounds: Sequence[float] = (0.0, 1.0),
    bins: int = 10,
) -> tuple[ReliabilityBin, ...]:
    """Return what came of predictions of each size: the points of a reliability diagram.

    Args:
        predicted: `[N]` predictions; those outside the bounds count to the outer bins.
        true: `[N]` what came: scores, or 0 and 1 for an event.
        bounds: Lowest and highest score; the bins divide what lies between evenly.
        bins: How many, at least 1.

    Raises:
        ValueError: If an argument is out of its range.
    """
    low, high = as_bounds(bounds)
    if bins < 1:
        raise ValueError(f"bins={bins} must be at least 1")
    predicted, true = as_scores("predicted", predicted), as_scores("true", true)
    require_same_length(predicted=predicted, true=true)
    require_numbers("predicted", predicted)
    require_numbers("true", true)
    edges = np.linspace(low, high, bins + 1)
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, bins - 1)
    return tuple(
        ReliabilityBin(
            low=float(edges[k]),
            high=float(edges[k + 1]),
            count=int((place == k).sum()),
            predicted=_mean(predicted[place == k]),
            true=_mean(true[place == k]),
        )
        for k in range(bins)
    )


def calibration_error(diagram: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: the mean distance of a diagram from its diagonal.

    Each bin counts by its share of the predictions. NaN if there are none.
    """
    filled = [part for part in diagram if part.count]
    total = sum(part.count for part in filled)
    if not total:
        return float("nan")
    return sum(part.count * abs(part.predicted - part.true) for part in filled) / total


def cross_debiased(
    predicted: npt.ArrayLike,
    true: npt.ArrayLike,
    blocks: npt.ArrayLike,
    *,
    bounds: Sequence[float] = (0.0, 1.0),
    folds: int = 5,
    seed: int = 0,
) -> FloatArray:
    """Return predictions recast by an `IsotonicDebiaser` that has not seen them.

    The blocks (groups, or tasks) are dealt into folds; those of one fold are recast by the map
    that the others give.

    Args:
        predicted: `[N]` predicted scores.
        true: `[N]` true scores.
        blocks: `[N]` int, what stays together: pairs of one block never judge one another.
        bounds: Lowest and highest score.
        folds: How many, at least 2; at most one for each block is used.
        seed: Of the dealing.

    Returns:
        `[N]` recast scores; NaN where the other folds have too few pairs for a map.

    Raises:
        ValueError: If an argument is out of its range.
    """
    if folds < 2:
        raise ValueError(f"folds={folds} must be at least 2")
    predicted, true, blocks = checked_pairs(predicted, true, blocks)
    names, block = np.unique(blocks, return_inverse=True)
    dealt = np.random.default_rng(seed).permutation(len(names)) % folds
    recast = np.full(len(predicted), np.nan)
    for fold in range(folds):
        here = dealt[block] == fold
        debiaser = IsotonicDebiaser(bounds=bounds)
        debiaser.partial_fit(predicted[~here], true[~here])
        if debiaser.fitted:
            recast[here] = debiaser.transform(predicted[here])
    return recast


def bootstrap_interval(
    statistic: Callable[[IntArray], float],
    count: int,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile interval of a statistic when groups are drawn with replacement.

    Members of a group share their task and are no independent evidence: groups are.

    Args:
        statistic: Of `[count]` int, the places of the groups that were drawn; NaN counts as a
            resample that says nothing.
        count: Number of groups.
        confidence: Of the interval, in (0, 1).
        resamples: How often groups are drawn, at least 1.
        seed: Of the drawing.

    Returns:
        Lower and upper end; NaN with fewer than two groups, or if nothing can be said.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1")
    if resamples < 1:
        raise ValueError(f"resamples={resamples} must be at least 1")
    if count < 2:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    drawn = np.array([statistic(rng.integers(count, size=count)) for _ in range(resamples)])
    drawn = drawn[~np.isnan(drawn)]
    if not drawn.size:
        return float("nan"), float("nan")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return float(low), float(high)


def _pair_accuracy(predicted: FloatArray, true: FloatArray) -> float:
    first, second = np.triu_indices(len(true), k=1)
    order = np.sign(true[first] - true[second])
    told = np.sign(predicted[first] - predicted[second])
    differ: BoolArray = order != 0
    return _mean(0.5 + 0.5 * (order * told)[differ])


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else float("nan")
