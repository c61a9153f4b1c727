"""Sort by colour: put each of two objects on the tray of its colour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import pi

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter
from wmrl_gym.envs.vla.families.motions import Waypoint, above
from wmrl_gym.envs.vla.families.objects import SYMMETRY
from wmrl_gym.envs.vla.families.palette import NAMES
from wmrl_gym.envs.vla.families.placing import carried, put, resting
from wmrl_gym.envs.vla.families.shapes import HALF, TRAY_HALF, TRAY_HEIGHT, loose, tray
from wmrl_gym.envs.vla.view import SceneView

_THINGS = ("cube_a", "cylinder_a")
_TRAYS = ("tray_a", "tray_b")
_WITHIN = TRAY_HALF - 0.01
_APPROACH = 0.2
"""Share of an object's progress that is the hand's approach."""


class Sort(Family):
    """A cube, a cylinder and two trays; each object belongs on the tray of its colour."""

    name = "sort"
    horizon = 240
    factors = {"first": NAMES, "second": NAMES}  # noqa: RUF012  # never mutated
    templates = (
        "sort the objects by colour onto the {first} and the {second} tray",
        "put each object on the tray of its colour, {first} on {first} and {second} on {second}",
        "put the {first} object on the {first} tray and the {second} object on the {second} tray",
        "match colours: {first} to {first}, {second} to {second}",
        "place the {first} thing on the {first} tray, then the {second} thing on the {second} tray",
        "tidy up so that {first} lies on {first} and {second} on {second}",
        "every object goes to the tray of the same colour, {first} or {second}",
        "move the {first} and the {second} object onto the trays of the same colour",
        "sort {first} from {second}, each to its tray",
        "the trays are {first} and {second}; put on each the object of its colour",
    )

    def possible(self, composition: Composition) -> bool:
        """Colours differ; their order says nothing, so only one of the two is used."""
        return composition[0] < composition[1]

    def bodies(self) -> str:
        """A cube, a cylinder and the trays."""
        things = "".join(loose(name, name.partition("_")[0]) for name in _THINGS)
        return things + "".join(tray(name) for name in _TRAYS)

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """Which of the objects has which colour is drawn."""
        things = [_THINGS[i] for i in rng.permutation(2)]
        colours = dict(zip(things, composition, strict=True))
        colours |= dict(zip(_TRAYS, composition, strict=True))
        places = scatter(rng, [0.085] * 2 + [0.062] * 2)
        poses = {n: Pose(*p, TRAY_HEIGHT) for n, p in zip(_TRAYS, places[:2], strict=True)}
        poses |= {
            n: Pose(*p, HALF, rng.uniform(-pi, pi)) for n, p in zip(things, places[2:], strict=True)
        }
        return Arrangement(poses, colours, (*things, *_TRAYS))

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """Where the first object that is not in its place belongs."""
        return _place(view, self._next(view))

    def success(self, view: SceneView) -> bool:
        """Both objects rest on their trays."""
        return _sorted(view, 0) and _sorted(view, 1)

    def progress(self, view: SceneView) -> float:
        """Half for each object; the hand's approach counts for the next one only."""
        following = self._next(view)
        return 0.5 * sum(self._share(view, role, role == following) for role in (0, 1))

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Put the first object that is not in its place there, then the other."""
        for role in (0, 1):
            if not _sorted(view, role):
                yield from put(view, role, partial(_place, view, role), symmetry=SYMMETRY)

    def _next(self, view: SceneView) -> int:
        return 1 if _sorted(view, 0) else 0

    def _share(self, view: SceneView, role: int, approached: bool) -> float:
        if _sorted(view, role):
            return 1.0
        approach = view.approach(role, 0.01) if approached else 0.0
        way = carried(view, role, _place(view, role), within=_WITHIN)
        return _APPROACH * approach + (1.0 - _APPROACH) * way


def _place(view: SceneView, role: int) -> NDArray[np.float64]:
    return above(view.position(role + 2), HALF)


def _sorted(view: SceneView, role: int) -> bool:
    return resting(view, role, _place(view, role), within=_WITHIN)
