"""Open or close a drawer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import atan2

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.motions import CLOSED, Waypoint, above, grasp, rise, travel
from wmrl_gym.envs.vla.families.palette import NAMES, other_colours
from wmrl_gym.envs.vla.view import SceneView, covered

_DRAWERS = ("drawer_a", "drawer_b")
_OPEN = 0.11
_TOLERANCE = 0.012
_HANDLE_HEIGHT = 0.06


class Drawer(Family):
    """A cabinet with two drawers side by side; one has to be opened or closed."""

    name = "drawer"
    horizon = 80
    factors = {"goal": ("open", "close"), "colour": NAMES}  # noqa: RUF012  # never mutated
    templates = (
        "{goal} the {colour} drawer",
        "please {goal} the {colour} drawer",
        "{goal} the drawer with the {colour} handle",
        "{goal} the {colour} drawer of the cabinet",
        "use the {colour} handle to {goal} the drawer",
        "go to the cabinet and {goal} the {colour} drawer",
        "{goal} the drawer whose front is {colour}",
        "find the {colour} handle and {goal} its drawer",
        "{goal} the {colour} drawer all the way",
        "leave the other drawer alone and {goal} the {colour} one",
    )

    def bodies(self) -> str:
        """A cabinet that can be placed, with two drawers on rails."""
        drawers = "".join(
            _drawer(name, y) for name, y in zip(_DRAWERS, (-0.075, 0.075), strict=True)
        )
        return f"""
    <body name="cabinet" mocap="true">
      <geom class="paint" type="box" size="0.055 0.155 0.004" pos="0.095 0 0.087"
            rgba="0.45 0.33 0.22 1"/>
      <geom class="paint" type="box" size="0.004 0.155 0.041" pos="0.146 0 0.042"
            rgba="0.45 0.33 0.22 1"/>{drawers}
    </body>"""

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """The drawer that is meant starts closed or open; the other one at random."""
        action, colour = composition
        names = [_DRAWERS[i] for i in rng.permutation(2)]
        colours = dict(zip(names, (colour, *other_colours(rng, [colour], 1)), strict=True))
        cabinet = Pose(
            rng.uniform(0.08, 0.12), rng.uniform(-0.06, 0.06), 0.0, rng.uniform(-0.25, 0.25)
        )
        start, end = (0.0, _OPEN) if action == "open" else (_OPEN, 0.0)
        values = {names[0]: start, names[1]: rng.choice([0.0, _OPEN])}
        return Arrangement({"cabinet": cabinet}, colours, tuple(names), values, goal_value=end)

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """Where the handle has to come to."""
        return view.position(0) + _outwards(view) * (view.goal_value - view.value(0))

    def success(self, view: SceneView) -> bool:
        """The drawer is open by at least 10 cm, or closed to 1 cm."""
        return _left(view) < _TOLERANCE

    def progress(self, view: SceneView) -> float:
        """A third for the hand's approach, the rest for the drawer's way."""
        moved = covered(_left(view) - _TOLERANCE, _OPEN - _TOLERANCE)
        return 0.33 * view.approach(0, 0.03) + 0.67 * moved

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Grip the handle and pull, or push against it."""
        yield from (self._open(view) if view.goal_value else self._close(view))

    def _open(self, view: SceneView) -> Iterator[Waypoint]:
        yaw = _yaw(view)
        yield from grasp(view, lambda: view.position(0), yaw=yaw)
        for _ in range(20):
            yield Waypoint(view.position(0) + 0.03 * _outwards(view), yaw, CLOSED)

    def _close(self, view: SceneView) -> Iterator[Waypoint]:
        yaw = _yaw(view)
        yield from rise(view, 0.17, yaw=view.yaw, opening=CLOSED)
        for height in (0.11, 0.0):
            where = partial(_in_front, view, height)
            yield from travel(view, where, yaw=yaw, opening=CLOSED, tolerance=0.012)
        for _ in range(20):
            yield Waypoint(view.position(0) - 0.03 * _outwards(view), yaw, CLOSED)


def _left(view: SceneView) -> float:
    """How far the drawer has still to go, in metres; negative beyond the goal."""
    return (view.goal_value - view.value(0)) * (1.0 if view.goal_value else -1.0)


def _in_front(view: SceneView, height: float) -> NDArray[np.float64]:
    return above(view.position(0) + 0.05 * _outwards(view), height)


def _outwards(view: SceneView) -> NDArray[np.float64]:
    """Direction in which drawers open: along minus x of the cabinet, `[3]`."""
    return -view.matrix(0)[[0, 3, 6]]


def _yaw(view: SceneView) -> float:
    matrix = view.matrix(0)
    return atan2(matrix[3], matrix[0])


def _drawer(name: str, y: float) -> str:
    """Its origin is the handle, 5 cm in front of the closed drawer's front."""
    return f"""
      <body name="{name}" pos="-0.03 {y} {_HANDLE_HEIGHT}">
        <joint name="{name}" type="slide" axis="-1 0 0" range="0 0.125" damping="6"
               frictionloss="0.6" armature="0.3"/>
        <geom name="{name}_skin" class="fixture" type="box" size="0.01 0.011 0.03"/>
        <geom class="paint" type="box" size="0.02 0.006 0.006" pos="0.03 0 0"
              rgba="0.6 0.6 0.6 1"/>
        <geom name="{name}_skin_front" class="fixture" type="box" size="0.006 0.068 0.055"
              pos="0.056 0 -0.003"/>
        <geom class="paint" type="box" size="0.055 0.062 0.004" pos="0.115 0 -0.05"
              rgba="0.5 0.38 0.26 1"/>
      </body>"""
