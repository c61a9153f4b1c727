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
probable ones given the anchors and, beforehand, normal distributions about 0 and 1. How wide that
of a has to be, which is how far off the model's level may be, is for the anchors to say as well:
widths count by their evidence (MacKay 1992, "Bayesian interpolation", by Laplace's method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax

from wmrl_gym.correction.checks import as_scores, require_numbers, require_same_length

FloatArray = npt.NDArray[np.float64]

_IDENTITY = np.array([0.0, 1.0])
"""Shift and slope of predictions that are right."""
_SHIFTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Standard deviations that the shift may have: success rates near one half that are off by 0.06 on
average, up to any."""
_SLOPES = 0.5
"""That of the slope."""
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
            anchors, kept within [0, 1]: anchors that happen to be alike would ask for any.

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
    others, c, r = _checked(predicted, anchor_predicted, anchor_true)
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


def _best_power(predicted: FloatArray, true: FloatArray) -> float:
    """The lambda of least variance.

    With m = lambda M / (n + M) the variance is (var r - 2 m cov + m^2 var c) / n + m^2 var c / M,
    which is least at m = cov / var c * M / (n + M).
    """
    spread = float(predicted.var())
    if spread == 0.0:
        return 0.0
    covariance = float(((predicted - predicted.mean()) * (true - true.mean())).mean())
    return min(max(covariance / spread, 0.0), 1.0)


def recalibrated_rate(
    predicted: npt.ArrayLike, anchor_predicted: npt.ArrayLike, anchor_true: npt.ArrayLike
) -> float:
    """Estimate the success rate of all episodes: a mean of recast probabilities and of outcomes.

    Args:
        predicted: `[M]` predicted probabilities of success of the episodes that are no anchors.
        anchor_predicted: `[n]` those of the anchors, n >= 1.
        anchor_true: `[n]` whether the anchors succeeded, 0 or 1.

    Returns:
        The estimated rate, in `[0, 1]`. Unlike `prediction_powered_mean` it may be biased towards
        the model's: use it where the model has shown on other episodes that it ranks them rightly.

    Raises:
        ValueError: If the lengths differ, a number is outside `[0, 1]`, or there is no anchor.

    Examples:
        >>> hopeful = recalibrated_rate([0.9] * 18, [0.9, 0.9], [0.0, 0.0])
        >>> 0.1 < hopeful < 0.7
        True
    """
    others, c, r = _checked(predicted, anchor_predicted, anchor_true)
    for name, scores in (("predicted", others), ("anchor_predicted", c), ("anchor_true", r)):
        outside = scores[(scores < 0.0) | (scores > 1.0)]
        if len(outside):
            raise ValueError(f"{name} has {outside[0]}, outside [0, 1]: they are probabilities")
    recasts = [_recalibrated(_odds(c), r, spread) for spread in _SHIFTS]
    rates = [
        np.concatenate([r, expit(recast.shift + recast.slope * _odds(others))]).mean()
        for recast in recasts
    ]
    return float(np.average(rates, weights=softmax([recast.evidence for recast in recasts])))


@dataclass(frozen=True)
class _Recast:
    """What to make of the model's log odds."""

    shift: float
    slope: float
    evidence: float
    """Logarithm, up to a constant, of how probable the outcomes were beforehand."""


def _recalibrated(odds: FloatArray, true: FloatArray, spread: float) -> _Recast:
    """The most probable recast of `[n]` log odds, if the shift's standard deviation is `spread`."""
    inputs = np.stack([np.ones_like(odds), odds])
    precision = np.array([spread, _SLOPES]) ** -2.0

    def surprise(parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the logarithm of the posterior, and its gradient."""
        recast, apart = parameters @ inputs, parameters - _IDENTITY
        value = np.logaddexp(0.0, recast).sum() - true @ recast + 0.5 * precision @ apart**2
        return float(value), inputs @ (expit(recast) - true) + precision * apart

    best = minimize(surprise, _IDENTITY, jac=True, method="BFGS")
    rates = expit(best.x @ inputs)
    curvature = (inputs * rates * (1.0 - rates)) @ inputs.T + np.diag(precision)
    volume = 0.5 * np.log(precision).sum() - 0.5 * np.linalg.slogdet(curvature).logabsdet
    return _Recast(float(best.x[0]), float(best.x[1]), float(volume - best.fun))


def _odds(probabilities: FloatArray) -> FloatArray:
    """Log odds; a model is never taken to be surer than 99 %."""
    odds: FloatArray = logit(np.clip(probabilities, _LEAST, 1.0 - _LEAST))
    return odds


def _checked(
    predicted: npt.ArrayLike, anchor_predicted: npt.ArrayLike, anchor_true: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The arguments of an estimate as arrays of numbers, at least one anchor among them."""
    others, c = as_scores("predicted", predicted), as_scores("anchor_predicted", anchor_predicted)
    r = as_scores("anchor_true", anchor_true)
    require_same_length(anchor_predicted=c, anchor_true=r)
    for name, scores in (("predicted", others), ("anchor_predicted", c), ("anchor_true", r)):
        require_numbers(name, scores)
    if not len(r):
        raise ValueError("anchor_true is empty: an estimate needs at least one anchor")
    return others, c, r
