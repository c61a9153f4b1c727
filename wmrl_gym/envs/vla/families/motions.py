"""What experts are made of: waypoints, and short motions that yield one for each control step.

A motion reads the scene anew at each step, so that it corrects itself. It ends when it has
done its part or has run out of patience; whoever runs a whole plan starts it again if the task
is not achieved then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import atan2, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.view import SceneView

Floats = NDArray[np.float64]
Where = Callable[[], Floats]

OPEN, CLOSED = 1.0, 0.0
HOVER = 0.09
"""Metres above a thing at which the hand approaches and carries."""
_CLOSING_STEPS = 6
_OPENING_STEPS = 4


class Waypoint(NamedTuple):
    """Where the hand should go next."""

    position: Floats
    """`[3]` metres."""
    yaw: float
    """Radians about the vertical."""
    opening: float
    """Of the gripper, from 0 (closed) to 1."""
    pace: float = 1.0
    """Greatest part of a full step that the hand may make, in (0, 1]."""


def travel(
    view: SceneView,
    where: Where,
    *,
    yaw: float = 0.0,
    opening: float = OPEN,
    tolerance: float = 0.008,
    pace: float = 1.0,
    patience: int = 50,
) -> Iterator[Waypoint]:
    """Go `where` (asked anew at each step), until within `tolerance` or out of `patience`."""
    for _ in range(patience):
        target = where()
        if np.linalg.norm(target - view.hand) < tolerance and abs(yaw - view.yaw) < 0.06:
            return
        yield Waypoint(target, yaw, opening, pace)


def stay(view: SceneView, *, yaw: float, opening: float, steps: int) -> Iterator[Waypoint]:
    """Stay for some steps, say for the gripper to close."""
    here = view.hand.copy()
    for _ in range(steps):
        yield Waypoint(here, yaw, opening)


def rise(view: SceneView, height: float, *, yaw: float, opening: float) -> Iterator[Waypoint]:
    """Go straight up to a `height` over the table."""
    here = view.hand.copy()
    here[2] = max(height, here[2])
    yield from travel(view, lambda: here, yaw=yaw, opening=opening, tolerance=0.015)


def grasp(view: SceneView, where: Where, *, yaw: float) -> Iterator[Waypoint]:
    """Open, come down on a thing from above, and close."""
    yield from rise(view, float(where()[2]) + HOVER, yaw=view.yaw, opening=OPEN)
    yield from travel(view, lambda: above(where(), HOVER), yaw=yaw, tolerance=0.012)
    yield from travel(view, where, yaw=yaw, pace=0.7, patience=20)
    yield from stay(view, yaw=yaw, opening=CLOSED, steps=_CLOSING_STEPS)


def release(view: SceneView, *, yaw: float) -> Iterator[Waypoint]:
    """Open and rise."""
    yield from stay(view, yaw=yaw, opening=OPEN, steps=_OPENING_STEPS)
    yield from rise(view, float(view.hand[2]) + HOVER, yaw=yaw, opening=OPEN)


def above(position: Floats, height: float) -> Floats:
    """The place `height` over `position`."""
    return np.array([position[0], position[1], position[2] + height])


def yaw_of(matrix: Floats, symmetry: int) -> float:
    """Yaw of a body that looks the same after each `2 pi / symmetry`, nearest to 0."""
    period = 2 * pi / symmetry
    yaw = atan2(matrix[3], matrix[0])
    return yaw - period * round(yaw / period)
