"""Stack: put one block on another."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter
from wmrl_gym.envs.vla.families.motions import Waypoint, above
from wmrl_gym.envs.vla.families.palette import NAMES, other_colours
from wmrl_gym.envs.vla.families.placing import placing, put, resting
from wmrl_gym.envs.vla.families.shapes import HALF, loose
from wmrl_gym.envs.vla.view import SceneView

_BLOCKS = ("cube_a", "cube_b", "cube_c")
_WITHIN = HALF - 0.002


class Stack(Family):
    """Three cubes; one has to stand on another."""

    name = "stack"
    horizon = 120
    factors = {"colour": NAMES, "goal": NAMES}  # noqa: RUF012  # never mutated
    templates = (
        "stack the {colour} cube on the {goal} cube",
        "put the {colour} cube on top of the {goal} cube",
        "place the {colour} cube on the {goal} cube",
        "pick up the {colour} cube and stack it on the {goal} cube",
        "set the {colour} cube on top of the {goal} one",
        "build a tower: the {colour} cube on the {goal} cube",
        "the {goal} cube should carry the {colour} cube",
        "lift the {colour} cube onto the {goal} cube",
        "balance the {colour} cube on the {goal} cube",
        "make a stack with {goal} at the bottom and {colour} on top",
    )

    def possible(self, composition: Composition) -> bool:
        """The two cubes differ in colour."""
        return composition[0] != composition[1]

    def bodies(self) -> str:
        """Three cubes."""
        return "".join(loose(name, "cube") for name in _BLOCKS)

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """All three differ in colour."""
        colours = [*composition, *other_colours(rng, composition, 1)]
        poses = {
            name: Pose(*place, HALF, rng.uniform(-pi, pi))
            for name, place in zip(_BLOCKS, scatter(rng, [0.062] * 3), strict=True)
        }
        return Arrangement(poses, dict(zip(_BLOCKS, colours, strict=True)), _BLOCKS)

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """The upper cube's middle when it stands on the lower one."""
        return above(view.position(1), 2 * HALF)

    def success(self, view: SceneView) -> bool:
        """The upper cube rests on the lower one and the gripper has let go."""
        return resting(view, 0, self.goal(view), within=_WITHIN)

    def progress(self, view: SceneView) -> float:
        """Approach, lift, carry, lower."""
        return placing(view, 0, self.goal(view), within=_WITHIN)

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Grasp, lift, carry, lower, let go."""
        yield from put(view, 0, lambda: self.goal(view), symmetry=4)
