"""Numbers that can be compared, and which of two is better."""

from __future__ import annotations

import math
from collections.abc import Sequence


def finite(name: str, value: float) -> float:
    """A Python float of a finite number of any type, or an error that names it.

    NaN compares false with everything and infinity beats everything: neither may reach a
    comparison.

    Raises:
        ValueError: If the value is NaN or infinite.
    """
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}={value!r} must be a finite number")
    return number


def best_first(name: str, scores: Sequence[float], *, higher_is_better: bool) -> list[float]:
    """The scores of a leaderboard as Python floats, best first, whatever their order was.

    Raises:
        ValueError: If there are none, or one is NaN or infinite.
    """
    board = [finite(f"{name}[{place}]", score) for place, score in enumerate(scores)]
    if not board:
        raise ValueError(f"{name}={scores!r} must have at least one score")
    return sorted(board, reverse=higher_is_better)


def better(one: float, other: float, *, higher_is_better: bool) -> bool:
    """Whether `one` is strictly better than `other`."""
    return one > other if higher_is_better else one < other
