"""The flat observation: of the same size and order for every family.

| part | numbers | what |
|---|---|---|
| proprioception | 8 | hand position (m), hand axis-angle (rad), both fingers (m) |
| motion | 6 | hand velocity (m/s), commanded minus actual hand position (m) |
| things | 4 x 13 | by role: position, position from the hand, x and z axes, joint value |
| goal | 10 | goal, goal from the hand, goal from role 0, joint value to reach |
| family | 8 | one-hot |

Roles that a family does not use are zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.controller import HandController
from wmrl_gym.envs.vla.families import FAMILIES, Family
from wmrl_gym.envs.vla.view import SceneView

ROLES = 4
"""Most things that are observed."""
THING = 13
OBSERVATION_BOUND = 5.0
"""Entries lie within plus and minus this."""

_THINGS = slice(14, 14 + ROLES * THING)
_GOAL = slice(_THINGS.stop, _THINGS.stop + 10)
OBSERVATION_SIZE = _GOAL.stop + len(FAMILIES)
_ORDER = {name: index for index, name in enumerate(FAMILIES)}
_AXES = (0, 3, 6, 2, 5, 8)
"""Entries of a rotation matrix, by rows, that make up its x and z axes."""


def proprioception(view: SceneView) -> NDArray[np.float32]:
    """Hand position (m), hand axis-angle (rad) and finger positions (m), `[8]`.

    The axis-angle is that of the turn from pointing straight down, so it is 0 at home.
    """
    out = np.empty(8, dtype=np.float32)
    _write_proprioception(out, view)
    return out


def observe(view: SceneView, controller: HandController, family: Family) -> NDArray[np.float32]:
    """The flat observation, `[OBSERVATION_SIZE]`; the table above has its parts."""
    out = np.zeros(OBSERVATION_SIZE, dtype=np.float32)
    _write_proprioception(out, view)
    out[8:11] = view.hand_velocity()
    out[11:14] = controller.position - view.hand
    _write_things(out[_THINGS].reshape(ROLES, THING), view)
    _write_goal(out[_GOAL], view, family)
    out[_GOAL.stop + _ORDER[family.name]] = 1.0
    return np.clip(out, -OBSERVATION_BOUND, OBSERVATION_BOUND, out=out)


def _write_proprioception(out: NDArray[np.float32], view: SceneView) -> None:
    out[:3] = view.hand
    out[3:6] = view.axis_angle()
    out[6:8] = view.fingers


def _write_things(out: NDArray[np.float32], view: SceneView) -> None:
    positions = view.positions()
    out = out[: len(positions)]
    out[:, :3] = positions
    out[:, 3:6] = positions - view.hand
    out[:, 6:12] = view.matrices()[:, _AXES]
    out[:, 12] = view.values()


def _write_goal(out: NDArray[np.float32], view: SceneView, family: Family) -> None:
    goal = family.goal(view)
    out[:3] = goal
    out[3:6] = goal - view.hand
    out[6:9] = goal - view.position(0)
    out[9] = view.goal_value
