"""Reach: bring the fingertips to a marker in the air."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.arm import HOME_HAND
from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.layout import scatter_until
from wmrl_gym.envs.vla.families.motions import CLOSED, Waypoint, travel
from wmrl_gym.envs.vla.families.objects import cast_lookalikes
from wmrl_gym.envs.vla.families.palette import NAMES
from wmrl_gym.envs.vla.families.shapes import marker
from wmrl_gym.envs.vla.view import SceneView

_CLOSE = 0.02
_ROOM = 0.06
_HEIGHTS = (0.06, 0.28)


class Reach(Family):
    """Two balls and a cube float over the table; the hand has to come to one of them."""

    name = "reach"
    horizon = 50
    factors = {"shape": ("ball", "cube"), "colour": NAMES}  # noqa: RUF012  # never mutated
    templates = (
        "reach the {colour} {shape}",
        "reach for the {colour} {shape}",
        "move the gripper to the {colour} {shape}",
        "touch the {colour} {shape}",
        "go to the {colour} {shape}",
        "bring the fingertips to the {colour} {shape}",
        "move your hand to the {shape} that is {colour}",
        "put the gripper right at the {colour} {shape}",
        "find the {colour} {shape} and touch it",
        "of all the markers, reach the {colour} {shape}",
    )

    def bodies(self) -> str:
        """Three markers that nothing collides with."""
        return marker("ball_a", "ball") + marker("ball_b", "ball") + marker("cube_a", "cube")

    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """The other marker of the shape differs in colour; the other shape may share it."""
        names, colours = cast_lookalikes(rng, ("ball_a", "ball_b", "cube_a"), *composition)
        heights = rng.uniform(*_HEIGHTS, len(names))
        places = scatter_until(
            rng, [_ROOM] * len(names), lambda xy: _away(np.column_stack([xy, heights]))
        )
        poses = {
            name: Pose(x, y, float(z))
            for name, (x, y), z in zip(names, places, heights, strict=True)
        }
        return Arrangement(poses, colours, tuple(names))

    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """The marker."""
        return view.position(0)

    def success(self, view: SceneView) -> bool:
        """The fingertips are within 2 cm of the marker."""
        return view.distance(0) < _CLOSE

    def progress(self, view: SceneView) -> float:
        """Share of the way that is covered."""
        return view.approach(0, _CLOSE)

    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Straight there."""
        yield from travel(view, lambda: view.position(0), opening=CLOSED, tolerance=0.0)


def _away(places: NDArray[np.float64]) -> bool:
    """Whether no marker is where the hand starts."""
    return bool(np.linalg.norm(places - HOME_HAND, axis=1).min() > 0.12)
