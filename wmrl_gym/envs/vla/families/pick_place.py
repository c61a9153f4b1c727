"""Pick and place: put an object on a tray."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter
from wmrl_gym.envs.vla.families.motions import Waypoint, above
from wmrl_gym.envs.vla.families.objects import OBJECTS, SYMMETRY, cast_objects
from wmrl_gym.envs.vla.families.palette import NAMES, other_colours
from wmrl_gym.envs.vla.families.placing import placing, put, resting
from wmrl_gym.envs.vla.families.shapes import HALF, TRAY_HALF, TRAY_HEIGHT, tray
from wmrl_gym.envs.vla.view import SceneView

_WITHIN = TRAY_HALF - 0.01


class PickPlace(Family):
    """Three objects and two trays; one object has to be lifted on one tray."""

    name = "pick_place"
    horizon = 120
    factors = {  # noqa: RUF012  # never mutated
        "shape": ("cube", "cylinder"),
        "colour": NAMES,
        "goal": NAMES,
    }
    templates = (
        "put the {colour} {shape} on the {goal} tray",
        "place the {colour} {shape} on the {goal} tray",
        "pick up the {colour} {shape} and place it on the {goal} tray",
        "set the {colour} {shape} down on the {goal} tray",
        "move the {colour} {shape} onto the {goal} tray",
        "take the {colour} {shape} to the {goal} tray",
        "the {colour} {shape} belongs on the {goal} tray",
        "grasp the {colour} {shape}, lift it and leave it on the {goal} tray",
        "lift the {shape} that is {colour} and lay it on the {goal} tray",
        "bring the {colour} {shape} to the tray that is {goal}",
    )

    def bodies(self) -> str:
        """The objects and both trays."""
        return OBJECTS + tray("tray_a") + tray("tray_b")

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """The trays differ in colour; see `cast_objects` for the objects."""
        shape, colour, goal = composition
        names, colours = cast_objects(rng, shape, colour)
        colours |= {"tray_a": goal, "tray_b": other_colours(rng, [goal], 1)[0]}
        places = scatter(rng, [0.085] * 2 + [0.058] * 3)
        poses = {
            n: Pose(*p, TRAY_HEIGHT) for n, p in zip(("tray_a", "tray_b"), places[:2], strict=True)
        }
        poses |= {
            n: Pose(*p, HALF, rng.uniform(-np.pi, np.pi))
            for n, p in zip(names, places[2:], strict=True)
        }
        return Arrangement(poses, colours, (names[0], "tray_a", *names[1:]))

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """Where the object's middle is when it stands on the tray."""
        return above(view.position(1), HALF)

    def success(self, view: SceneView) -> bool:
        """The object rests on the tray and the gripper has let go."""
        return resting(view, 0, self.goal(view), within=_WITHIN)

    def progress(self, view: SceneView) -> float:
        """Approach, lift, carry, lower."""
        return placing(view, 0, self.goal(view), within=_WITHIN)

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Grasp, lift, carry, lower, let go."""
        yield from put(view, 0, lambda: self.goal(view), symmetry=SYMMETRY)
