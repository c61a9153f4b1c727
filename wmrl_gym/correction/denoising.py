"""Denoising: the weight of anchors against predictions in the gradient.

Groups graded by a world model carry the noise of its errors, so that their gradients vary
more: v_W = v_A (1 + kappa sigma^2). Least variance is had by weighing each stream by the
inverse of its variance, eq. (5), which leaves one number: anchors count v_W / v_A times as
much. sigma^2 is the mean squared residual s_t on the anchors; kappa is taken as the
reciprocal of that same residual s_0 at the end of a warm-up. Hence

    weight of an anchor = 1 + s_t / s_0,      weight of any other group = 1.

The rule follows *changes* in the world model's quality: 2 is a normalisation, not a
measurement. A wrong weight is cheap, because it sits at a minimum; see `excess_variance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import (
    FloatArray,
    IntArray,
    as_groups,
    as_scores,
    require_same_length,
)

ROUNDING = 1e-9
"""Scores whose relative difference is below this are equal: the last bits of a perfect world
model must not become the unit in which its later errors are measured."""


class InverseVarianceWeighting:
    """Follows the residual of the world model on anchors and turns it into their weight.

    The residual of a group is the mean squared difference of calibrated and true scores
    over its pairs, as in the paper (D6). The reference s_0 is the plain mean over the first
    `warmup_groups` groups, the current s_t the plain mean over the latest as many (D4): an
    exponential average would take most of s_0 from a single group. So the weight is exactly
    2 when the warm-up ends. A world model without any error has nothing to compare with:
    its warm-up goes on, with weight 1, until a window holds a residual above 0.

    Args:
        warmup_groups: Anchor groups in the warm-up and in the window. The paper's code takes
            32, some 320 groups of training. With 8, and residuals as scattered as an
            exponential variable (sd = mean), 90 % of the weights of a steady world model
            fall in [1.4, 3.3] instead of [1.7, 2.5]; in gradient variance that costs 1.1 %
            instead of 0.25 % on average, at a tenth of anchors.
        max_weight: Largest weight (D14): bounds what a broken world model can do.
        exponent: Power of the rule, in [0, 1] (D21): 1 is the paper's; 1/2 is optimal when
            advantages are divided by the group's standard deviation, which already shrinks
            a noisy group; 0 switches the weighting off.

    Raises:
        ValueError: If `warmup_groups < 1`, `max_weight < 1` or `exponent` is not in [0, 1].

    Examples:
        >>> weighting = InverseVarianceWeighting(warmup_groups=1)
        >>> weighting.update(calibrated=[0.5, 0.5], true=[0.4, 0.6], groups=[0, 0])
        >>> weighting.anchor_weight
        2.0
    """

    def __init__(
        self, *, warmup_groups: int = 8, max_weight: float = 4.0, exponent: float = 1.0
    ) -> None:
        if warmup_groups < 1:
            raise ValueError(f"warmup_groups must be at least 1, got {warmup_groups!r}")
        if not 1.0 <= max_weight < np.inf:
            raise ValueError(f"max_weight must be a finite number >= 1, got {max_weight!r}")
        if not 0.0 <= exponent <= 1.0:
            raise ValueError(f"exponent must lie in [0, 1], got {exponent!r}")
        self.warmup_groups = warmup_groups
        self.max_weight = max_weight
        self.exponent = exponent
        self.groups_seen = 0
        """Groups that gave a residual so far."""
        self._window: list[float] = []
        self._reference: float | None = None

    @property
    def residual(self) -> float:
        """s_t: mean residual of the latest `warmup_groups` groups; NaN before the first."""
        return float(np.mean(self._window)) if self._window else np.nan

    @property
    def reference_residual(self) -> float:
        """s_0: mean residual over the warm-up; NaN before it ends."""
        return np.nan if self._reference is None else self._reference

    @property
    def anchor_weight(self) -> float:
        """1.0 before the warm-up ends, then (1 + s_t / s_0) ** exponent in [1, max_weight]."""
        if self._reference is None:
            return 1.0
        ratio = 1.0 + self.residual / self._reference
        return float(np.clip(ratio**self.exponent, 1.0, self.max_weight))

    def update(self, calibrated: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike) -> None:
        """Take in the residuals of fresh anchor groups.

        For an honest residual, `calibrated` comes from a map fitted without these pairs (D5).

        Args:
            calibrated: `[N]` calibrated scores; NaN where there is none.
            true: `[N]` scores of the real executions; NaN where there is none.
            groups: `[N]` int, group ids. A group without a whole pair is skipped: it has no
                residual, which is not the residual 0 (D6).

        Raises:
            ValueError: If the lengths differ or `groups` are not integers >= 0.
        """
        calibrated, true = as_scores("calibrated", calibrated), as_scores("true", true)
        groups = as_groups("groups", groups)
        require_same_length(calibrated=calibrated, true=true, groups=groups)
        for residual in group_residuals(calibrated, true, groups):
            self._window = [*self._window, float(residual)][-self.warmup_groups :]
            self.groups_seen += 1
            warm = len(self._window) == self.warmup_groups
            if self._reference is None and warm and self.residual > 0.0:
                self._reference = self.residual

    def state_dict(self) -> dict[str, Any]:
        """Return residuals, reference and counter as plain data (D22)."""
        return {
            "window": list(self._window),
            "reference": self._reference,
            "groups_seen": self.groups_seen,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`; a finished warm-up is not repeated."""
        self._window = [float(residual) for residual in state["window"]][-self.warmup_groups :]
        self._reference = state["reference"]
        self.groups_seen = state["groups_seen"]


def group_residuals(calibrated: FloatArray, true: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean squared difference of each group, in the order of the group ids.

    Args:
        calibrated: `[N]` calibrated scores; NaN where there is none.
        true: `[N]` true scores; NaN where there is none.
        groups: `[N]` group ids.

    Returns:
        `[M]` float64 >= 0, one for each group with at least one whole pair.
    """
    equal = np.isclose(calibrated, true, rtol=ROUNDING, atol=0.0)
    squared = np.where(equal, 0.0, (calibrated - true) ** 2)
    paired = ~np.isnan(squared)
    _, member = np.unique(groups[paired], return_inverse=True)
    residuals: FloatArray = np.bincount(member, weights=squared[paired]) / np.bincount(member)
    return residuals
