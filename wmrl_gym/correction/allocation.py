"""Where anchors are worth most: unequal shares by stratum (task), at the same total.

A stratum whose predictions are uncertain gains most from an anchor. For a fixed number of
anchors the variance of the prediction-powered estimate is least when the probability of an
anchor is proportional to the standard deviation of what the model leaves unexplained in the
stratum (Neyman, 1934). The known probabilities enter the loss by their inverse
(`prediction_powered`), which keeps the estimate unbiased: without that correction the gradient
would lean towards the strata with more anchors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import as_scores, require_same_length

SMOOTHING = 16.0
"""Pairs of the pooled residual that each stratum is given: two groups of 8."""


class AnchorAllocation:
    """Learns from anchors how uncertain each stratum is, and shares out the anchors.

    Args:
        fraction: Mean share of anchors over strata that are met equally often, in (0, 1].
        least: Smallest share of a stratum, as a part of `fraction`, in (0, 1]. It bounds the
            inverse-probability weights by 1 / (least * fraction).

    Raises:
        ValueError: If an argument is out of its range.

    Examples:
        >>> allocation = AnchorAllocation(fraction=0.2)
        >>> allocation.update([0.3] * 4000, ["hard"] * 4000)
        >>> allocation.update([0.1] * 4000, ["easy"] * 4000)
        >>> round(allocation.share("hard"), 2), round(allocation.share("easy"), 2)
        (0.3, 0.1)
    """

    def __init__(self, *, fraction: float = 0.1, least: float = 0.25) -> None:
        if not 0.0 < fraction <= 1.0:
            raise ValueError(f"fraction={fraction!r} must lie in (0, 1]")
        if not 0.0 < least <= 1.0:
            raise ValueError(f"least={least!r} must lie in (0, 1]")
        self.fraction = fraction
        self.least = least
        self._squares: dict[str, float] = {}
        self._counts: dict[str, float] = {}

    def share(self, stratum: str) -> float:
        """Return the probability that a group of `stratum` is an anchor."""
        if stratum not in self._counts:
            return self.fraction
        spreads = {name: self._spread(name) for name in self._counts}
        mean = float(np.mean(list(spreads.values())))
        relative = spreads[stratum] / mean if mean > 0.0 else 1.0
        return float(np.clip(self.fraction * relative, self.least * self.fraction, 1.0))

    def update(self, errors: npt.ArrayLike, strata: list[str]) -> None:
        """Take in the errors of fresh anchors.

        Args:
            errors: `[N]` calibrated minus true scores, by maps fitted without these pairs,
                centred within their group: an offset that all members share moves no gradient.
            strata: `[N]` names.

        Raises:
            ValueError: If the lengths differ.
        """
        errors = as_scores("errors", errors)
        require_same_length(errors=errors, strata=np.array(strata, dtype=object))
        for error, stratum in zip(errors, strata, strict=True):
            self._squares[stratum] = self._squares.get(stratum, 0.0) + float(error**2)
            self._counts[stratum] = self._counts.get(stratum, 0.0) + 1.0

    def state_dict(self) -> dict[str, Any]:
        """Return sums and counts as plain data."""
        return {"squares": dict(self._squares), "counts": dict(self._counts)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._squares, self._counts = dict(state["squares"]), dict(state["counts"])

    def _spread(self, stratum: str) -> float:
        pooled = sum(self._squares.values()) / sum(self._counts.values())
        squares = self._squares[stratum] + SMOOTHING * pooled
        return float(np.sqrt(squares / (self._counts[stratum] + SMOOTHING)))
