"""How good a policy is: the mean true score, from many predictions and a few true scores.

    estimate = lambda mean over all of c  +  mean over anchors of (r - lambda c)

with c the predicted and r the true score (Angelopoulos et al., "Prediction-powered inference",
Science 382:669, 2023, and "PPI++", arXiv 2311.01453). It is unbiased whatever the predictions
are worth, for the anchors are a random sample; good predictions only make it more certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import as_scores, require_numbers, require_same_length


@dataclass(frozen=True)
class MeanEstimate:
    """An estimate of a mean."""

    value: float
    standard_error: float
    """NaN with fewer than 2 anchors."""
    power: float
    """lambda >= 0: how far the predictions were trusted."""


def prediction_powered_mean(
    predicted: npt.ArrayLike,
    anchor_predicted: npt.ArrayLike,
    anchor_true: npt.ArrayLike,
    *,
    power: float | None = None,
) -> MeanEstimate:
    """Estimate the mean true score of all episodes.

    Args:
        predicted: `[M]` predicted scores of the episodes that are no anchors.
        anchor_predicted: `[n]` predicted scores of the anchors, n >= 1.
        anchor_true: `[n]` their true scores.
        power: lambda >= 0; by default the one of least variance, cov(r, c) / var(c) over the
            anchors, or 0 if that is negative. It exceeds 1 where predictions differ less than
            the truth.

    Returns:
        The estimate. Its standard error is that of two independent samples, the anchors and
        the others.

    Raises:
        ValueError: If the lengths differ, a score is NaN, there is no anchor, or `power` is
            negative.

    Examples:
        >>> prediction_powered_mean([0.5, 0.7], [0.6, 0.4], [1.0, 0.0], power=1.0).value
        0.55
    """
    others, c = as_scores("predicted", predicted), as_scores("anchor_predicted", anchor_predicted)
    r = as_scores("anchor_true", anchor_true)
    require_same_length(anchor_predicted=c, anchor_true=r)
    for name, scores in (("predicted", others), ("anchor_predicted", c), ("anchor_true", r)):
        require_numbers(name, scores)
    if not len(r):
        raise ValueError("anchor_true is empty: an estimate needs at least one anchor")
    if power is not None and not 0.0 <= power < np.inf:
        raise ValueError(f"power={power!r} must be finite and not negative")
    # Shares of the episodes; the mean over all of c is that over both kinds.
    share = len(others) / (len(others) + len(r))
    trust = _best_power(c, r) if power is None else power
    # lambda mean(all c) - lambda mean(anchor c) = lambda share (mean(other c) - mean(anchor c))
    moved = trust * share
    shift = moved * (others.mean() - c.mean()) if len(others) else 0.0
    if len(r) < 2:
        return MeanEstimate(float(r.mean() + shift), np.nan, trust)
    variance = (r - moved * c).var(ddof=1) / len(r)
    if len(others) > 1:
        variance += moved**2 * others.var(ddof=1) / len(others)
    return MeanEstimate(float(r.mean() + shift), float(np.sqrt(variance)), trust)


def _best_power(predicted: npt.NDArray[np.float64], true: npt.NDArray[np.float64]) -> float:
    """The lambda of least variance.

    With m = lambda M / (n + M) the variance is (var r - 2 m cov + m^2 var c) / n + m^2 var c / M,
    which is least at m = cov / var c * M / (n + M).
    """
    spread = float(predicted.var())
    if spread == 0.0:
        return 0.0
    covariance = float(((predicted - predicted.mean()) * (true - true.mean())).mean())
    return max(covariance / spread, 0.0)
