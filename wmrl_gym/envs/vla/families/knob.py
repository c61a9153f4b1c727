"""Turn a knob."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter
from wmrl_gym.envs.vla.families.motions import CLOSED, Waypoint, grasp
from wmrl_gym.envs.vla.families.palette import NAMES, other_colours
from wmrl_gym.envs.vla.view import SceneView, covered

_KNOBS = ("knob_a", "knob_b")
_TURN = 1.2
_TOLERANCE = 0.1
_DIRECTIONS = {"clockwise": -1.0, "counterclockwise": 1.0}


class Knob(Family):
    """Two knobs with a bar to grip; one has to be turned by some 70 degrees."""

    name = "knob"
    horizon = 80
    factors = {  # noqa: RUF012  # never mutated
        "colour": NAMES,
        "goal": tuple(_DIRECTIONS),
    }
    templates = (
        "turn the {colour} knob {goal}",
        "rotate the {colour} knob {goal}",
        "twist the {colour} knob {goal}",
        "turn the {colour} dial {goal}",
        "grip the {colour} knob and turn it {goal}",
        "give the {colour} knob a turn {goal}",
        "set the {colour} knob by turning it {goal}",
        "the {colour} knob has to go {goal}; turn it",
        "rotate the {colour} dial {goal} as far as it is marked",
        "take hold of the {colour} dial and twist it {goal}",
    )

    def bodies(self) -> str:
        """Two knobs, each on a base that can be placed."""
        return "".join(_knob(name) for name in _KNOBS)

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """The knobs differ in colour; each bar starts within half a radian of the x axis."""
        colour, direction = composition
        colours = dict(zip(_KNOBS, (colour, *other_colours(rng, [colour], 1)), strict=True))
        poses = {
            f"{name}_base": Pose(*place, 0.0, rng.uniform(-0.5, 0.5))
            for name, place in zip(_KNOBS, scatter(rng, [0.085] * 2), strict=True)
        }
        goal_value = _TURN * _DIRECTIONS[direction]
        return Arrangement(poses, colours, _KNOBS, goal_value=goal_value)

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """The knob itself; how far to turn it is the goal's joint value."""
        return view.position(0)

    def success(self, view: SceneView) -> bool:
        """It is turned the right way, by at least 1.1 radians."""
        return _left(view) < _TOLERANCE

    def progress(self, view: SceneView) -> float:
        """A third for the hand's approach, the rest for turning."""
        turned = covered(_left(view) - _TOLERANCE, _TURN - _TOLERANCE)
        return 0.33 * view.approach(0, 0.015) + 0.67 * turned

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Grip the bar across, and turn the hand with it."""
        yield from grasp(view, lambda: view.position(0).copy(), yaw=_yaw(view))
        for _ in range(25):
            ahead = view.goal_value - view.value(0)
            yield Waypoint(
                view.position(0).copy(), _yaw(view) + np.clip(1.3 * ahead, -0.4, 0.4), CLOSED
            )


def _left(view: SceneView) -> float:
    """How far the knob has still to be turned, in radians; negative beyond the goal."""
    return (view.goal_value - view.value(0)) * (1.0 if view.goal_value > 0 else -1.0)


def _yaw(view: SceneView) -> float:
    matrix = view.matrix(0)
    return atan2(matrix[3], matrix[0])


def _knob(name: str) -> str:
    return f"""
    <body name="{name}_base" mocap="true">
      <geom class="paint" type="cylinder" size="0.045 0.01" pos="0 0 0.01" rgba="0.3 0.3 0.3 1"/>
      <body name="{name}" pos="0 0 0.045">
        <joint name="{name}" type="hinge" axis="0 0 1" range="-1.6 1.6" damping="0.02"
               frictionloss="0.02" armature="0.001"/>
        <geom name="{name}_skin" class="fixture" type="box" size="0.032 0.009 0.022"/>
        <geom class="paint" type="cylinder" size="0.035 0.004" pos="0 0 -0.022" mass="0.01"
              rgba="0.5 0.5 0.5 1"/>
      </body>
    </body>"""
