"""The loose objects of several families: two cubes and a cylinder."""

from __future__ import annotations

import numpy as np

from wmrl_gym.envs.vla.families.palette import other_colours
from wmrl_gym.envs.vla.families.shapes import loose

OBJECTS = loose("cube_a", "cube") + loose("cube_b", "cube") + loose("cylinder_a", "cylinder")
SYMMETRY = 4
"""A cube looks the same after a quarter turn; so does a cylinder."""

_BODIES = ("cube_a", "cube_b", "cylinder_a")


def cast_objects(
    rng: np.random.Generator, shape: str, colour: str
) -> tuple[list[str], dict[str, str]]:
    """Choose the object that is meant and paint all three.

    Another object may have its shape or its colour, but none has both.

    Returns:
        The bodies, the meant one first, and the colour of each.
    """
    return cast_lookalikes(rng, _BODIES, shape, colour)


def cast_lookalikes(
    rng: np.random.Generator, bodies: tuple[str, ...], shape: str, colour: str
) -> tuple[list[str], dict[str, str]]:
    """`cast_objects` for any bodies that are named `<shape>_<letter>`."""
    target = next(name for name in bodies if name.startswith(shape))
    names = [target, *(name for name in bodies if name != target)]
    colours = {target: colour}
    others = other_colours(rng, [colour], len(names) - 1)
    for name, other in zip(names[1:], others, strict=True):
        shares_colour = not name.startswith(shape) and rng.random() < 0.5
        colours[name] = colour if shares_colour else other
    return names, colours
