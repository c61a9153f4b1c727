"""An anchor budget that follows the audit: more anchors where the world model ranks badly."""

from __future__ import annotations

import math
from dataclasses import dataclass

STEPS = 20
"""The fraction moves on a grid of twentieths, so that blocks of groups stay short."""


@dataclass(frozen=True, kw_only=True)
class AnchorBudget:
    """The share of anchors as a function of the within-group rank correlation.

    A monotone map keeps the order of a group, so an order that is wrong is beyond debiasing: only
    real executions help. The share is `fraction` while the rank correlation is at least
    `trusted`, and grows in a straight line to `maximum` where it is 0 or below.

    Raises:
        ValueError: If not `0 < fraction <= maximum <= 1`, or `trusted` is not in (0, 1].

    Examples:
        >>> budget = AnchorBudget(fraction=0.1, maximum=0.5, trusted=0.8)
        >>> budget.at(0.9), budget.at(0.4), budget.at(-0.2)
        (0.1, 0.3, 0.5)
    """

    fraction: float = 0.1
    """Share of the groups that are anchors while the world model ranks well."""
    maximum: float = 0.1
    """Share where its ranking is worth nothing; equal to `fraction`, the budget is fixed."""
    trusted: float = 0.6
    """Rank correlation, within groups, from which on `fraction` is enough."""

    def __post_init__(self) -> None:
        if self.fixed:
            return
        if not 0.0 < self.fraction <= self.maximum <= 1.0:
            raise ValueError(
                f"need 0 < fraction <= maximum <= 1, got fraction={self.fraction!r}, "
                f"maximum={self.maximum!r}"
            )
        if not 0.0 < self.trusted <= 1.0:
            raise ValueError(f"trusted={self.trusted!r} must lie in (0, 1]")

    @property
    def fixed(self) -> bool:
        """Whether the share never moves."""
        return self.maximum == self.fraction

    def at(self, rank_correlation: float) -> float:
        """Return the share of anchors for a rank correlation; `fraction` for NaN (no audit yet).

        Args:
            rank_correlation: In [-1, 1], or NaN.
        """
        if self.fixed or math.isnan(rank_correlation):
            return self.fraction
        missing = min(1.0, max(0.0, 1.0 - rank_correlation / self.trusted))
        wanted = self.fraction + missing * (self.maximum - self.fraction)
        if missing in (0.0, 1.0):
            return wanted
        return max(self.fraction, min(self.maximum, round(wanted * STEPS) / STEPS))
