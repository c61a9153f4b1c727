"""Giving out the scores of a group in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wmrl_gym.errors import WorldModelError


def reordered(values: Sequence[float], preferences: Sequence[float]) -> list[float]:
    """Give out `values` in the order of `preferences`.

    The values stay what they are, so that what was calibrated stays calibrated; only who gets
    which changes.

    Args:
        values: `[G]` scores.
        preferences: `[G]` more for better; a member with NaN keeps its value. Equal ones keep
            the order of their values.

    Raises:
        WorldModelError: If the lengths differ.

    Examples:
        >>> reordered([0.2, 0.5, 0.9, 0.0], [3.0, 1.0, 2.0, float("nan")])
        [0.9, 0.2, 0.5, 0.0]
    """
    if len(preferences) != len(values):
        raise WorldModelError(
            f"a world model gave {len(preferences)} preferences for a group of {len(values)}"
        )
    known, wanted = np.array(values, dtype=np.float64), np.array(preferences, dtype=np.float64)
    moved = np.flatnonzero(~np.isnan(wanted))
    ascending = moved[np.lexsort((known[moved], wanted[moved]))]
    given = known.copy()
    given[ascending] = np.sort(known[moved])
    return [float(value) for value in given]
