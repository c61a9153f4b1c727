"""Colours by name, and draws of colours that differ from one another."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

COLOURS = {
    "red": (0.85, 0.12, 0.12),
    "green": (0.15, 0.65, 0.2),
    "blue": (0.12, 0.3, 0.85),
    "yellow": (0.95, 0.85, 0.15),
    "purple": (0.55, 0.2, 0.7),
    "orange": (0.95, 0.5, 0.1),
}
NAMES = tuple(COLOURS)


def other_colours(rng: np.random.Generator, taken: Collection[str], count: int) -> list[str]:
    """Draw `count` different colours that are not `taken`."""
    free = [name for name in NAMES if name not in taken]
    return [free[i] for i in rng.permutation(len(free))[:count]]
