"""Checks of what enters the method: one message for each way in which arrays do not fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

BOUNDS_TOLERANCE = 1e-9
"""How far a true score may lie outside the bounds by rounding, as a share of their width."""


def as_scores(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return `values` as `[N]` float64; raise `ValueError` naming `name` if they are not flat."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"{name} must have one axis, got the shape {scores.shape}")
    return scores


def as_groups(name: str, values: npt.ArrayLike) -> IntArray:
    """Return `values` as `[N]` int64 group ids; raise `ValueError` unless they are ints >= 0."""
    groups = np.asarray(values)
    if groups.ndim != 1:
        raise ValueError(f"{name} must have one axis, got the shape {groups.shape}")
    if groups.size == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(groups.dtype, np.integer):
        raise ValueError(f"{name} must be integers, got the dtype {groups.dtype}")
    if groups.min() < 0:
        raise ValueError(f"{name} must not be negative, got {int(groups.min())}")
    return groups.astype(np.int64)


def as_mask(name: str, values: npt.ArrayLike) -> BoolArray:
    """Return `values` as `[N]` bool; raise `ValueError` unless they are booleans."""
    mask = np.asarray(values)
    if mask.ndim != 1 or (mask.size > 0 and mask.dtype != np.bool_):
        raise ValueError(
            f"{name} must be booleans on one axis, got {mask.dtype} of shape {mask.shape}"
        )
    return mask.astype(np.bool_)


def as_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return `values` as (low, high); raise `ValueError` unless finite and increasing."""
    if len(values) != 2 or not np.isfinite(values).all() or not values[0] < values[1]:
        raise ValueError(f"bounds must be two finite numbers, the lower first, got {values!r}")
    return float(values[0]), float(values[1])


def require_same_length(**arrays: npt.NDArray[np.generic]) -> None:
    """Raise `ValueError` with the name and the length of each array unless all agree."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"lengths differ: {listed}; give one entry of each per episode")


def require_numbers(name: str, scores: FloatArray) -> None:
    """Raise `ValueError` if `scores` holds NaN, which says "no score" and is not 0."""
    if np.isnan(scores).any():
        raise ValueError(
            f"{name} holds {int(np.isnan(scores).sum())} NaN; no score is not 0: leave these "
            "episodes out"
        )


def require_within(name: str, scores: FloatArray, bounds: tuple[float, float]) -> None:
    """Raise `ValueError` if a score lies outside `bounds` by more than rounding; NaN passes."""
    low, high = bounds
    slack = BOUNDS_TOLERANCE * (high - low)
    outside = scores[(scores < low - slack) | (scores > high + slack)]
    if outside.size:
        raise ValueError(
            f"{name} holds {outside[0]!r}, outside bounds={bounds!r}; declare the bounds of "
            "the environment's scores"
        )


def checked_pairs(
    predicted: npt.ArrayLike, true: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return `[N]` predicted and true scores and `[N]` groups; raise `ValueError` on NaN."""
    predicted, true = as_scores("predicted", predicted), as_scores("true", true)
    groups = as_groups("groups", groups)
    require_same_length(predicted=predicted, true=true, groups=groups)
    require_numbers("predicted", predicted)
    require_numbers("true", true)
    return predicted, true, groups
