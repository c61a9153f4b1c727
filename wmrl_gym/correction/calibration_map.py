"""The monotone map that recasts predicted scores, and its least-squares fit (eq. 4).

    f = argmin over monotone f of  sum over anchor pairs of (f(predicted) - true)^2

The minimiser is isotonic regression. It is a staircase, and a step pools predictions that
the world model told apart; so the map runs linearly from the centre of each step to the
centre of the next (centred isotonic regression), and a small tilt sees to the rest. Fresh
scores were predicted better so than by the staircase where truth is smooth or noisy (0 to
9 % lower squared error in simulation), worse where it is a cliff, which becomes a ramp.
No monotone map can mend an order that is wrong; see `rank_correlation`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from wmrl_gym.correction.checks import FloatArray, as_scores, require_numbers

TILT = 1e-4
"""Least slope of a calibrated map; also its largest bias, as a share of the bounds' width.

As large as the `eps` of `group_advantages`: members of a group that fall on a plateau keep
their order, and `eps` keeps their advantages from blowing up (D8).
"""

DECIMALS = 9
"""Predictions that agree to so many decimals of the bounds' width are one knot.

Means of ladder scores differ in their last bits; apart, they would be two knots with a
cliff between them (D13).
"""


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """A monotone map of scores. It never changes; a refit makes a new one.

    A group that keeps the map it was started with is scored with one version throughout,
    whatever is refitted meanwhile (D11).
    """

    x: FloatArray
    """`[K]` predicted scores at the knots, increasing, within the bounds."""
    y: FloatArray
    """`[K]` calibrated scores at the knots, non-decreasing, before the tilt."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest score."""
    version: int = 0
    """Number of fits so far; 0 is the identity."""
    calibrated: bool = False
    """Whether pairs stand behind the map; if not, it is the identity (D1)."""

    def __post_init__(self) -> None:
        for name, values in (("x", self.x), ("y", self.y)):
            frozen = np.array(values, dtype=np.float64)
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    @classmethod
    def identity(cls, bounds: tuple[float, float]) -> CalibrationMap:
        """Return the map from before there are enough pairs: it only clips to `bounds`."""
        return cls(x=np.array(bounds), y=np.array(bounds), bounds=bounds)

    @classmethod
    def fit(
        cls, predicted: FloatArray, true: FloatArray, *, bounds: tuple[float, float], version: int
    ) -> CalibrationMap:
        """Fit the map to pairs by centred isotonic regression.

        Args:
            predicted: `[N]` scores of the world model within `bounds`; at least one.
            true: `[N]` scores of the real executions of the same episodes.
            bounds: Lowest and highest score.
            version: Version of the new map.

        Returns:
            A calibrated map. A step of the regression is one knot: its value over the mean
            of its predictions.
        """
        low, high = bounds
        scaled = np.round((predicted - low) / (high - low), DECIMALS)
        x, place, count = np.unique(scaled, return_inverse=True, return_counts=True)
        means = np.bincount(place, weights=true) / count
        fitted = isotonic_regression(
            means, sample_weight=count.astype(np.float64), y_min=low, y_max=high
        )
        step = np.concatenate([[0], np.cumsum(np.diff(fitted) > 0.0)])
        centres = np.bincount(step, weights=count * x) / np.bincount(step, weights=count)
        values = fitted[np.unique(step, return_index=True)[1]]
        return cls(
            x=low + (high - low) * centres,
            y=values,
            bounds=bounds,
            version=version,
            calibrated=True,
        )

    def __call__(self, predicted: npt.ArrayLike) -> FloatArray:
        """Recast predicted scores.

        Args:
            predicted: `[N]` scores; one outside the bounds counts as the bound (D12).

        Returns:
            `[N]` float64 within the bounds. Once calibrated, a prediction within the bounds
            that is larger (by more than 1e-9 of their width) comes out larger.

        Raises:
            ValueError: If a prediction is NaN: no score is not 0, leave it out (D9).
        """
        scores = as_scores("predicted", predicted)
        require_numbers("predicted", scores)
        inside = np.clip(scores, *self.bounds)
        if not self.calibrated:
            return inside
        tilted = (1.0 - TILT) * np.interp(inside, self.x, self.y) + TILT * inside
        return np.clip(tilted, *self.bounds)

    @property
    def flatness(self) -> float:
        """Share of the bounds' width that the map does not span: 0 identity, 1 no signal (D20)."""
        low, high = self.bounds
        lowest, highest = self(np.array(self.bounds))
        return 1.0 - float(highest - lowest) / (high - low)
