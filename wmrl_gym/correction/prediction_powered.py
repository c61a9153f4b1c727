"""Prediction-powered fusion: the anchors also correct the mean of the model's stream.

With r the true and c the calibrated score, and g(.) the gradient of a group, the estimate is

    g = mean over all of lambda g(c)  +  mean over anchors of (g(r) - lambda g(c))

(Angelopoulos et al., "PPI++", arXiv 2311.01453; here for gradients). The second term is a
control variate: whatever the world model gets wrong, even in a way that no monotone map of its
scores can mend, is corrected in the mean, because anchors are a random sample. The price is
variance, 1 / p times as much of what the model does not explain. With p the probability that a
group is an anchor, each episode enters the loss with up to two advantages,

    anchor:  (1 / p) A(r) - lambda (1 / p - 1) A(c)          any other:  lambda A(c),

whose coefficients sum to 1 on average, so the step size stays. Anchors may be drawn with unequal
p (Horvitz and Thompson, 1952): the estimate stays unbiased.

It is unbiased where advantages are linear in the scores (`normalize="center"`). Division by the
group's standard deviation makes A(c) and A(r) differ in scale; then it is a good approximation
while the calibrated scores spread like the true ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.advantages import group_advantages
from wmrl_gym.correction.checks import FloatArray, as_mask, as_scores, require_same_length

MIN_GROUPS = 4
"""Anchor groups with an order before lambda is estimated; until then it is 1."""


def loss_coefficients(
    anchors: npt.ArrayLike, inclusion: npt.ArrayLike, *, power: float
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of an episode's own advantage and of its prediction's.

    Args:
        anchors: `[B]` bool, which episodes are anchors.
        inclusion: `[B]` probability in (0, 1] that the episode's group is an anchor.
        power: lambda in [0, 1]: 0 trusts the anchors alone, 1 the model in full.

    Returns:
        `[B]` and `[B]` float64: the coefficient of the advantage from the episode's score (true
        for anchors, calibrated for others), and that of the advantage from an anchor's
        calibrated prediction, 0 for others.

    Raises:
        ValueError: If the lengths differ, a probability is not in (0, 1] or `power` not in [0, 1].

    Examples:
        >>> own, prediction = loss_coefficients([True, False], [0.25, 0.25], power=0.5)
        >>> own.tolist(), prediction.tolist()
        ([4.0, 0.5], [-1.5, 0.0])
    """
    chosen, probability = as_mask("anchors", anchors), as_scores("inclusion", inclusion)
    require_same_length(anchors=chosen, inclusion=probability)
    if not ((probability > 0.0) & (probability <= 1.0)).all():
        raise ValueError(f"inclusion must lie in (0, 1], got {probability.tolist()!r}")
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power={power!r} must lie in [0, 1]")
    own = np.where(chosen, 1.0 / probability, power)
    # Not -0.0 where p is 1, which would be a different number to whoever compares bits.
    prediction = np.where(chosen & (probability < 1.0), power * (1.0 - 1.0 / probability), 0.0)
    return own, prediction


def tuned_power(calibrated: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    """Return the lambda of least variance: E[A(r) A(c)] / E[A(c)^2] over anchors, in [0, 1].

    The variance that anchors add is (1 / p - 1) E[(A(r) - lambda A(c))^2], a parabola in lambda.

    Args:
        calibrated: `[N]` calibrated scores of anchors, by maps fitted without them.
        true: `[N]` their true scores.
        groups: `[N]` int, group ids.

    Returns:
        1 while fewer than `MIN_GROUPS` groups have true scores that differ; 0 if the calibrated
        scores tell nothing apart.
    """
    by_truth = group_advantages(true, groups, normalize="center")
    by_model = group_advantages(calibrated, groups, normalize="center")
    ordered = np.unique(np.asarray(groups)[by_truth != 0.0])
    if len(ordered) < MIN_GROUPS:
        return 1.0
    explained = float(by_model @ by_model)
    if explained == 0.0:
        return 0.0
    return float(np.clip(by_truth @ by_model / explained, 0.0, 1.0))
