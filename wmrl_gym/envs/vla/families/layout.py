"""Draws of places on the table that keep their distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_TRIES = 5000

Floats = NDArray[np.float64]
Range = tuple[float, float]

X_RANGE, Y_RANGE = (-0.14, 0.18), (-0.25, 0.25)


def scatter(
    rng: np.random.Generator,
    radii: Sequence[float],
    *,
    x: Range = X_RANGE,
    y: Range = Y_RANGE,
) -> list[tuple[float, float]]:
    """Draw a place for each of some discs, so that no two overlap; see `scatter_until`."""
    return scatter_until(rng, radii, lambda _: True, x=x, y=y)


def scatter_until(
    rng: np.random.Generator,
    radii: Sequence[float],
    accept: Callable[[Floats], bool],
    *,
    x: Range = X_RANGE,
    y: Range = Y_RANGE,
) -> list[tuple[float, float]]:
    """Draw places until no two discs overlap and all is accepted.

    Args:
        rng: Source of randomness.
        radii: Of the discs, in metres.
        accept: Whether the places, `[N, 2]`, will do.
        x: Range of the centres, in metres.
        y: Range of the centres, in metres.
    """
    sizes = np.asarray(radii)
    needed = sizes[:, None] + sizes[None]
    np.fill_diagonal(needed, 0.0)
    for _ in range(_TRIES):
        places = np.column_stack([rng.uniform(*x, len(sizes)), rng.uniform(*y, len(sizes))])
        gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
        if (gaps >= needed).all() and accept(places):
            return [(float(a), float(b)) for a, b in places]
    raise RuntimeError(f"no room for discs of radii {list(radii)} in x {x}, y {y}")


def clearance(point: Floats, start: Floats, end: Floats) -> float:
    """Distance of a `point` from the straight line between `start` and `end`, all `[2]`."""
    way = end - start
    share = np.clip((point - start) @ way / (way @ way), 0.0, 1.0)
    return float(np.linalg.norm(point - start - share * way))
