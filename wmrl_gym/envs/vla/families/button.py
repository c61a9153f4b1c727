"""Press a button."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter
from wmrl_gym.envs.vla.families.motions import CLOSED, Waypoint, above, rise, travel
from wmrl_gym.envs.vla.families.objects import cast_lookalikes
from wmrl_gym.envs.vla.families.palette import NAMES
from wmrl_gym.envs.vla.view import SceneView, covered

_BUTTONS = ("round_a", "round_b", "square_a")
_TOP = 0.05
_TRAVEL = 0.016
_PRESSED = 0.8
_CAPS = {
    # A box collides as one, and the cylinder is painted over it: see `shapes`.
    "round": """<geom name="{name}_skin" class="paint" type="cylinder" size="0.026 0.01"
             pos="0 0 -0.01" mass="0"/>
          <geom class="fixture" type="box" size="0.022 0.022 0.01" pos="0 0 -0.01" group="3"/>""",
    "square": """<geom name="{name}_skin" class="fixture" type="box" size="0.023 0.023 0.01"
             pos="0 0 -0.01"/>""",
}


class Button(Family):
    """Three buttons on the table; one has to be pressed down, and no other."""

    name = "button"
    horizon = 60
    factors = {"shape": ("round", "square"), "colour": NAMES}  # noqa: RUF012  # never mutated
    templates = (
        "press the {shape} {colour} button",
        "push the {shape} {colour} button",
        "press down on the {shape} {colour} button",
        "push the {colour} {shape} button all the way down",
        "hit the {shape} {colour} button",
        "activate the {shape} {colour} button",
        "press the {colour} button that is {shape}",
        "only the {shape} {colour} button should be pressed",
        "go to the {shape} {colour} button and press it",
        "find the {colour} {shape} button and push it",
    )

    def bodies(self) -> str:
        """Three buttons on springs, each on a base that can be placed."""
        return "".join(_button(name) for name in _BUTTONS)

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """Another button may have the target's shape or its colour, but none has both."""
        names, colours = cast_lookalikes(rng, _BUTTONS, *composition)
        poses = {
            f"{name}_base": Pose(*place, 0.0, rng.uniform(-0.5, 0.5))
            for name, place in zip(names, scatter(rng, [0.06] * 3), strict=True)
        }
        return Arrangement(poses, colours, tuple(names), goal_value=-_TRAVEL)

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """The middle of the button's top when it is down."""
        return above(view.position(0), view.goal_value - view.value(0))

    def success(self, view: SceneView) -> bool:
        """The button is down and the others are up."""
        down = [-value > _PRESSED * _TRAVEL for value in view.values()]
        return down[0] and not any(down[1:])

    def progress(self, view: SceneView) -> float:
        """Half for the hand's approach, half for pressing."""
        pressed = covered(_TRAVEL + view.value(0), _TRAVEL)
        return 0.5 * view.approach(0, 0.015) + 0.5 * pressed

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Go over the button with closed fingers and down."""
        yield from rise(view, _TOP + 0.06, yaw=view.yaw, opening=CLOSED)
        yield from travel(view, lambda: above(view.position(0), 0.05), opening=CLOSED)
        yield from travel(
            view, lambda: above(self.goal(view), -0.02), opening=CLOSED, tolerance=0.0, patience=15
        )


def _button(name: str) -> str:
    cap = _CAPS[name.partition("_")[0]].format(name=name)
    return f"""
    <body name="{name}_base" mocap="true">
      <geom class="paint" type="box" size="0.04 0.04 0.015" pos="0 0 0.015" rgba="0.3 0.3 0.3 1"/>
      <body name="{name}" pos="0 0 {_TOP}">
        <joint name="{name}" type="slide" axis="0 0 1" range="-{_TRAVEL} 0" stiffness="150"
               springref="0.006" damping="3" armature="0.02"/>
        {cap}
      </body>
    </body>"""
