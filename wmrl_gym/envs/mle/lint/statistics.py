"""How much an order says about a target, and whether chance would say as much.

An effect counts if it is large enough to be of use and too large for chance: `LARGE`, and
`DEVIATIONS` standard deviations of what a random order would give. On small data the second
rules, on large data the first, so that neither noise nor a trifle raises an alarm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from wmrl_gym.envs.mle.lint.parts import Column

LARGE = 0.2
"""Least effect that is reported: a rank correlation, or a difference of probabilities."""
DEVIATIONS = 4.5
"""Normal chance exceeds this once in 150,000 orders."""
_PERMUTATIONS = 200


def separation(order: NDArray[np.float64], target: Column) -> float:
    """How well an order separates small from large targets, or one class from the others.

    Args:
        order: `[N]` ranks.
        target: `[N]` numbers or labels.

    Returns:
        The absolute rank correlation; for labels the largest rank-biserial correlation of a
        class, which is 1 if all of its rows come first or last. 0 if chance would do.
    """
    ranks = rankdata(order)
    if target.dtype.kind != "U":
        return _beyond_chance(abs(correlation(ranks, rankdata(target))), len(ranks) ** -0.5)
    return max((_of_class(ranks, target == label) for label in np.unique(target)), default=0.0)


def _of_class(ranks: NDArray[np.float64], members: NDArray[np.bool_]) -> float:
    inside, outside = int(members.sum()), int((~members).sum())
    if not inside or not outside:
        return 0.0
    pairs = inside * outside
    first = (ranks[members].sum() - inside * (inside + 1) / 2) / pairs
    return _beyond_chance(abs(2 * first - 1), float(np.sqrt((len(ranks) + 1) / (3 * pairs))))


def persistence(target: Column) -> float:
    """How much more alike neighbours are than any two rows.

    Args:
        target: `[N]` numbers or labels, in some order.

    Returns:
        The serial correlation of the ranks; for labels the share of neighbours with one label,
        0 for chance and 1 for a sorted file. 0 if chance would do.
    """
    if len(target) < 3:
        return 0.0
    codes = np.unique(target, return_inverse=True)[1]
    function = _alike if target.dtype.kind == "U" else _serial
    values = codes if target.dtype.kind == "U" else rankdata(target)
    rng = np.random.default_rng(0)
    drawn = [function(rng.permutation(values)) for _ in range(_PERMUTATIONS)]
    return _beyond_chance(function(values) - float(np.mean(drawn)), float(np.std(drawn)))


def _serial(ranks: NDArray[Any]) -> float:
    return correlation(ranks[:-1], ranks[1:])


def _alike(codes: NDArray[Any]) -> float:
    chance = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    if chance == 1:
        return 0.0
    return (float(np.mean(codes[1:] == codes[:-1])) - chance) / (1 - chance)


def correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Pearson's correlation; 0 if one of both is constant."""
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def _beyond_chance(effect: float, deviation: float) -> float:
    return float(effect) if effect >= max(LARGE, DEVIATIONS * deviation) else 0.0
