"""Push: slide an object over the table into a zone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import atan2, cos, pi, sin

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import clearance, scatter_until
from wmrl_gym.envs.vla.families.motions import HOVER, Waypoint, above, rise, travel
from wmrl_gym.envs.vla.families.objects import OBJECTS, cast_objects
from wmrl_gym.envs.vla.families.palette import NAMES, other_colours
from wmrl_gym.envs.vla.families.shapes import HALF, ZONE_RADIUS, zone
from wmrl_gym.envs.vla.view import SceneView, covered

_WITHIN = 0.035
_BEHIND = 0.06
_CONTACT = 0.035
_FORK = 0.5
"""Opening of the gripper at which both fingers touch the object's near side."""
_LOW = 0.02


class Push(Family):
    """Three objects and two zones on the table; one object has to end up in one zone."""

    name = "push"
    horizon = 120
    factors = {  # noqa: RUF012  # never mutated
        "shape": ("cube", "cylinder"),
        "colour": NAMES,
        "goal": NAMES,
    }
    templates = (
        "push the {colour} {shape} into the {goal} zone",
        "slide the {colour} {shape} to the {goal} zone",
        "push the {colour} {shape} onto the {goal} circle",
        "shove the {colour} {shape} into the {goal} circle",
        "move the {colour} {shape} along the table to the {goal} zone",
        "nudge the {colour} {shape} until it is in the {goal} zone",
        "without lifting it, bring the {colour} {shape} to the {goal} circle",
        "get the {colour} {shape} into the zone that is {goal}",
        "the {colour} {shape} should end up in the {goal} zone; push it there",
        "push the {shape} that is {colour} to the middle of the {goal} circle",
    )

    def bodies(self) -> str:
        """The objects and both zones."""
        return OBJECTS + zone("zone_a") + zone("zone_b")

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """The way from behind the object to its zone is clear of the other objects."""
        shape, colour, goal = composition
        names, colours = cast_objects(rng, shape, colour)
        colours |= {"zone_a": goal, "zone_b": other_colours(rng, [goal], 1)[0]}
        places = scatter_until(
            rng, [ZONE_RADIUS + 0.01] * 2 + [0.05] * 3, _clear, x=(-0.1, 0.14), y=(-0.2, 0.2)
        )
        poses = {n: Pose(*p, 0.001) for n, p in zip(("zone_a", "zone_b"), places[:2], strict=True)}
        poses |= {
            n: Pose(*p, HALF, rng.uniform(-pi, pi)) for n, p in zip(names, places[2:], strict=True)
        }
        return Arrangement(poses, colours, (names[0], "zone_a", *names[1:]))

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """The object's middle when it stands in the middle of the zone."""
        return above(view.position(1), HALF)

    def success(self, view: SceneView) -> bool:
        """The object's middle is within 3.5 cm of the zone's, and it is on the table."""
        offset = view.position(0) - self.goal(view)
        return bool(np.hypot(offset[0], offset[1]) < _WITHIN and abs(offset[2]) < HALF / 2)

    def progress(self, view: SceneView) -> float:
        """A quarter for the hand's approach to the far side, the rest for the object's way."""
        way = _distance(view.start[0], view.position(1)) - _WITHIN
        pushed = covered(_distance(view.position(0), view.position(1)) - _WITHIN, way)
        return 0.25 * self._approach(view) + 0.75 * pushed

    def _approach(self, view: SceneView) -> float:
        # Towards the object itself, going around it would look like a step back.
        started = _behind(view.start[0], view.position(1), _CONTACT, _LOW)
        way = float(np.linalg.norm(view.start_hand - started)) - _CONTACT
        now = _behind(view.position(0), view.position(1), _CONTACT, _LOW)
        return covered(float(np.linalg.norm(view.hand - now)) - _CONTACT, way)

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Come down behind the object with the fingers as a fork, and push it straight."""
        yaw = _across(view)
        yield from rise(view, HALF + HOVER, yaw=view.yaw, opening=_FORK)
        for height in (HALF + HOVER, _LOW):
            where = partial(self._far_side, view, _BEHIND, height)
            yield from travel(view, where, yaw=yaw, opening=_FORK)
        for _ in range(60):
            if _distance(view.position(0), view.position(1)) < 0.6 * _WITHIN:
                return
            if _astray(view):
                return
            yield Waypoint(self._far_side(view, HALF - 0.01, _LOW), _across(view), _FORK, 0.8)

    def _far_side(self, view: SceneView, distance: float, height: float) -> NDArray[np.float64]:
        return _behind(view.position(0), view.position(1), distance, height)


def _clear(places: NDArray[np.float64]) -> bool:
    """Whether the target's way is neither too short nor blocked by the two others."""
    zone_place, target, others = places[0], places[2], places[3:]
    way = zone_place - target
    length = float(np.linalg.norm(way))
    behind = target - 0.09 * way / max(length, 1e-9)
    return length > 0.12 and all(clearance(o, behind, zone_place) > 0.085 for o in others)


def _direction(view: SceneView) -> float:
    way = view.position(1) - view.position(0)
    return atan2(way[1], way[0])


def _across(view: SceneView) -> float:
    """The yaw, within a quarter turn of 0, at which the fingers stand across the way."""
    yaw = _direction(view)
    return yaw - pi * round(yaw / pi)


def _behind(
    position: NDArray[np.float64], goal: NDArray[np.float64], distance: float, height: float
) -> NDArray[np.float64]:
    """The place at some `distance` from `position` on the side away from the `goal`."""
    way = goal - position
    direction = atan2(way[1], way[0])
    x, y = position[0] - distance * cos(direction), position[1] - distance * sin(direction)
    return np.array([x, y, height])


def _astray(view: SceneView) -> bool:
    """Whether the hand has got beside the object, so that pushing on would turn it away."""
    direction = _direction(view)
    x, y, _ = view.hand - view.position(0)
    return bool(abs(y * cos(direction) - x * sin(direction)) > 0.02)


def _distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.hypot(a[0] - b[0], a[1] - b[1]))
