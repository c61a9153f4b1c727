"""How good a policy is: the mean true score, from many predictions and a few true scores.

    estimate = lambda mean over all of c  +  mean over anchors of (r - lambda c)

with c the predicted and r the true score (Angelopoulos et al., "Prediction-powered inference",
Science 382:669, 2023, and "PPI++", arXiv 2311.01453). It is unbiased whatever the predictions
are worth, for the anchors are a random sample; good predictions only make it more certain.

With some twenty anchors that certainty is dearly bought: a model whose success rate is nearly right
is worth more than its order of single episodes. `recalibrated_rate` believes in the model's level
until the anchors say otherwise:

    P(success) = sigmoid(a + b logit(c))

(Platt 1999, "Probabilistic outputs for support vector machines"), of which a and b are the most
probable ones given the anchors and, beforehand, normal distributions about 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logit

from wmrl_gym.correction.checks import as_scores, require_numbers, require_same_length

FloatArray = npt.NDArray[np.float64]

PRIOR_SPREAD = 0.5
"""What a shift of the log odds may well be: success rates that are off by 0.12 near one half."""
_IDENTITY = np.array([0.0, 1.0])
"""Shift and slope of predictions that are right."""
_LEAST = 0.01


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


def recalibrated_rate(
    predicted: npt.ArrayLike,
    anchor_predicted: npt.ArrayLike,
    anchor_true: npt.ArrayLike,
    *,
    spread: float = PRIOR_SPREAD,
) -> float:
    """Estimate the success rate of all episodes: a mean of recast probabilities and of outcomes.

    Args:
        predicted: `[M]` predicted probabilities of success of the episodes that are no anchors.
        anchor_predicted: `[n]` those of the anchors, n >= 1.
        anchor_true: `[n]` whether the anchors succeeded, 0 or 1.
        spread: Standard deviation, beforehand, of the map's shift and slope; the higher it is,
            the sooner the anchors overrule the model's level.

    Returns:
        The estimated rate, in `[0, 1]`. Unlike `prediction_powered_mean` it may be biased towards
        the model's.

    Raises:
        ValueError: If the lengths differ, a number is outside `[0, 1]`, there is no anchor, or
            `spread` is not positive.

    Examples:
        >>> rate = recalibrated_rate([0.9] * 18, [0.9, 0.9], [0.0, 0.0])  # far too hopeful
        >>> 0.0 < rate < 0.7
        True
    """
    others, c = as_scores("predicted", predicted), as_scores("anchor_predicted", anchor_predicted)
    r = as_scores("anchor_true", anchor_true)
    require_same_length(anchor_predicted=c, anchor_true=r)
    for name, scores in (("predicted", others), ("anchor_predicted", c), ("anchor_true", r)):
        require_numbers(name, scores)
        outside = scores[(scores < 0.0) | (scores > 1.0)]
        if len(outside):
            raise ValueError(f"{name} has {outside[0]}, outside [0, 1]: they are probabilities")
    if not len(r):
        raise ValueError("anchor_true is empty: an estimate needs at least one anchor")
    if not 0.0 < spread < np.inf:
        raise ValueError(f"spread={spread!r} must be finite and positive")
    shift, slope = _platt(_odds(c), r, spread)
    return float(np.concatenate([r, expit(shift + slope * _odds(others))]).mean())


def _platt(odds: FloatArray, true: FloatArray, spread: float) -> tuple[float, float]:
    """The most probable shift and slope."""

    def surprise(parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the logarithm of the posterior, and its gradient."""
        recast = parameters[0] + parameters[1] * odds
        apart = (parameters - _IDENTITY) / spread
        error = expit(recast) - true
        value = np.logaddexp(0.0, recast).sum() - true @ recast + 0.5 * apart @ apart
        return float(value), np.array([error.sum(), error @ odds]) + apart / spread

    best = minimize(surprise, _IDENTITY, jac=True, method="BFGS").x
    return float(best[0]), float(best[1])


def _odds(probabilities: FloatArray) -> FloatArray:
    """Log odds; a model is never taken to be surer than 99 %."""
    odds: FloatArray = logit(np.clip(probabilities, _LEAST, 1.0 - _LEAST))
    return odds
