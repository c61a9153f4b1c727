"""Fusing the two gradient streams by inverse variance, eq. (5), and the cost of a wrong weight.

    g = (G_A / v_A + G_W / v_W) / (|A| / v_A + |W| / v_W) = (w G_A + G_W) / (w |A| + |W|)

with w = v_W / v_A. G_A and G_W are *sums* over groups and v_A, v_W variances of *one*
group; the ratio applied to the streams' means would over-weigh the anchors by |W| / |A|.
Agents reach the same gradient by weighing each episode's loss; these functions are for
whoever holds gradients, and for checking that the two agree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import FloatArray


def fuse_gradients(
    anchor_sum: npt.ArrayLike,
    model_sum: npt.ArrayLike,
    *,
    anchors: int,
    model_groups: int,
    weight: float,
) -> FloatArray:
    """Return the weighted mean gradient of a batch.

    Args:
        anchor_sum: `[...]` sum of the gradients of the anchor groups.
        model_sum: `[...]` sum of the gradients of the other groups, of the same shape.
        anchors: Number of anchor groups, |A|.
        model_groups: Number of other groups, |W|.
        weight: w, of an anchor group against another, >= 0.

    Returns:
        `[...]` float64. Unbiased if both streams are, whatever the weight; of least variance
        at `optimal_weight`.

    Raises:
        ValueError: If the shapes differ, a count is negative, the weight is negative or not
            finite, or nothing has weight.
    """
    anchor_sum = np.asarray(anchor_sum, dtype=np.float64)
    model_sum = np.asarray(model_sum, dtype=np.float64)
    if anchor_sum.shape != model_sum.shape:
        raise ValueError(
            f"anchor_sum has the shape {anchor_sum.shape}, model_sum {model_sum.shape}; they "
            "must be gradients of the same parameters"
        )
    if anchors < 0 or model_groups < 0:
        raise ValueError(f"got anchors={anchors!r}, model_groups={model_groups!r}, both >= 0")
    if not 0.0 <= weight < np.inf:
        raise ValueError(f"weight must be finite and >= 0, got {weight!r}")
    total = weight * anchors + model_groups
    if total == 0.0:
        raise ValueError(
            f"nothing to fuse: anchors={anchors!r} of weight={weight!r}, model_groups=0"
        )
    fused: FloatArray = (weight * anchor_sum + model_sum) / total
    return fused


def optimal_weight(anchor_variance: float, model_variance: float) -> float:
    """Return w = v_W / v_A, the weight of an anchor group of least variance.

    Args:
        anchor_variance: v_A > 0, variance of the gradient of one anchor group.
        model_variance: v_W > 0, the same of a group that the world model graded.

    Raises:
        ValueError: If a variance is not a positive finite number.
    """
    for name, variance in (
        ("anchor_variance", anchor_variance),
        ("model_variance", model_variance),
    ):
        if not 0.0 < variance < np.inf:
            raise ValueError(f"{name} must be a positive finite number, got {variance!r}")
    return model_variance / anchor_variance


def excess_variance(
    weight: npt.ArrayLike, ratio: npt.ArrayLike, anchor_share: npt.ArrayLike
) -> FloatArray:
    """Return Var(weight) / Var(ratio) - 1, what a wrong weight costs.

    With a anchors and b = 1 - a others, exactly a b (w - rho)^2 / (rho (w a + b)^2). There
    is no first-order term, so an error of the weight is cheap: at a tenth of anchors and
    weight 2 it is 2.5 % if the true ratio is 3, and 7.4 % if it is 1 or 4.

    Args:
        weight: `[...]` w > 0, used for anchor groups.
        ratio: `[...]` rho > 0, the true v_W / v_A.
        anchor_share: `[...]` a in [0, 1], share of the groups that are anchors.

    Returns:
        `[...]` float64 >= 0, by broadcasting.

    Raises:
        ValueError: If a weight or ratio is not positive, or a share not in [0, 1].
    """
    w, rho, a = (np.asarray(v, dtype=np.float64) for v in (weight, ratio, anchor_share))
    if not ((w > 0.0).all() and (rho > 0.0).all()):
        raise ValueError(f"weight and ratio must be positive, got {weight!r} and {ratio!r}")
    if not ((a >= 0.0) & (a <= 1.0)).all():
        raise ValueError(f"anchor_share must lie in [0, 1], got {anchor_share!r}")
    b = 1.0 - a
    excess: FloatArray = a * b * (w - rho) ** 2 / (rho * (w * a + b) ** 2)
    return excess
