"""Putting a thing on top of another: what pick and place, stack and sort have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.motions import (
    HOVER,
    Waypoint,
    Where,
    above,
    grasp,
    release,
    travel,
    yaw_of,
)
from wmrl_gym.envs.vla.families.shapes import HALF
from wmrl_gym.envs.vla.view import SceneView, covered

Floats = NDArray[np.float64]

_LIFT = 0.05
_LET_GO = 0.052
_STILL = 0.05


def resting(view: SceneView, role: int, place: Floats, *, within: float) -> bool:
    """Whether a thing lies still at `place`, upright or not, and the gripper has let go of it.

    Args:
        view: The scene.
        role: The thing.
        place: Where its middle should be, `[3]`.
        within: Greatest distance along the table's axes, in metres.
    """
    offset = view.position(role) - place
    return bool(
        abs(offset[0]) < within
        and abs(offset[1]) < within
        and abs(offset[2]) < 0.008
        and let_go(view, role)
        and view.speed(role) < _STILL
    )


def let_go(view: SceneView, role: int) -> bool:
    """Whether the gripper is wide open, or away from the thing."""
    return view.gap > _LET_GO or view.distance(role) > 0.06


def placing(view: SceneView, role: int, place: Floats, *, within: float) -> float:
    """How far a thing has come on its way to `place`, in [0, 1]; for a gripper that goes to it.

    A quarter for the hand's approach, a quarter for lifting, and half for the way over the
    table; arguments as in `resting`.
    """
    return 0.25 * view.approach(role, 0.01) + 0.75 * carried(view, role, place, within=within)


def carried(view: SceneView, role: int, place: Floats, *, within: float) -> float:
    """The share of `placing` that does not look at the hand, scaled to [0, 1]."""
    position, start = view.position(role), view.start[role]
    offset = position - place
    over = bool(np.abs(offset[:2]).max() < within)
    lifted = 1.0 if over else min(max((position[2] - start[2]) / _LIFT, 0.0), 1.0)
    way = float(np.hypot(*(start - place)[:2]))
    across = covered(float(np.hypot(offset[0], offset[1])), way)
    down = covered(abs(float(offset[2])), HOVER) if over else 0.0
    return 0.3 * lifted + 0.5 * across + 0.2 * down


def put(view: SceneView, role: int, place: Where, *, symmetry: int) -> Iterator[Waypoint]:
    """Pick up a thing, carry it over and down to `place`, and let go.

    Args:
        view: The scene.
        role: The thing.
        place: Says where its middle should come to.
        symmetry: In how many turned positions it looks the same.
    """
    yaw = yaw_of(view.matrix(role), symmetry)
    yield from grasp(view, lambda: view.position(role), yaw=yaw)
    # The thing, not the hand, has to arrive: it may sit off the middle of the grasp.
    offset = view.hand - view.position(role)
    high = max(float(place()[2]), HALF) + HOVER
    here = np.array([*view.hand[:2], high])
    yield from travel(view, lambda: here, yaw=yaw, opening=0.0, tolerance=0.03)
    yield from travel(
        view,
        lambda: np.array([*(place() + offset)[:2], high]),
        yaw=yaw,
        opening=0.0,
        tolerance=0.008,
    )
    yield from travel(
        view,
        lambda: above(place() + offset, 0.002),
        yaw=yaw,
        opening=0.0,
        tolerance=0.006,
        pace=0.5,
        patience=25,
    )
    yield from release(view, yaw=yaw)
