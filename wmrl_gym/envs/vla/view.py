"""What can be read off a scene: the hand and the things that matter, in the order of their roles.

Everything here is a function of positions and velocities alone, refreshed once after each
control step, so that a restored state reads exactly like the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.arm import ARM_JOINTS
from wmrl_gym.envs.vla.physics import mujoco

Floats = NDArray[np.float64]

_JOINTS = len(ARM_JOINTS)


class SceneView:
    """Positions, orientations and joint values, by role; role 0 is what the task is about.

    Args:
        model: The compiled scene.
        data: Its state.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model, self._data = model, data
        self._site = model.site("hand").id
        self._full = np.zeros((6, model.nv))
        self._arm = slice(model.nv - _JOINTS - 2, model.nv - 2)
        self.hand: Floats = data.site_xpos[self._site]
        """Point between the fingertips, `[3]` metres."""
        self.rotation: Floats = data.site_xmat[self._site]
        """The hand's rotation matrix by rows, `[9]`; the identity while it points down unturned."""
        self.quaternion = np.array([1.0, 0.0, 0.0, 0.0])
        """The same as a quaternion, `[4]`, w first."""
        self.fingers: Floats = data.qpos[-2:]
        """How far each finger is open, `[2]` metres."""
        self.jacobian = self._full[:, self._arm]
        """Of the hand's position and orientation by the arm's joints, `[6, 6]`."""
        self.bodies = np.zeros(0, dtype=np.intp)
        """Body of each role."""
        self._values: list[int] = []
        self.goal_value = 0.0
        """Joint value that the target has to come to."""
        self.start_hand = np.zeros(3)
        """The hand when the episode began, `[3]`."""
        self.start = np.zeros((0, 3))
        """Positions by role when the episode began, `[R, 3]`."""

    def cast(self, names: Sequence[str], goal_value: float) -> None:
        """Say which bodies play the roles, in order, and where the target's joint should go."""
        self.goal_value = goal_value
        bodies = [self._model.body(name) for name in names]
        self.bodies = np.array([body.id for body in bodies])
        joints = [int(body.jntadr[0]) for body in bodies]
        self._values = [self._hinge_or_slide(joint) for joint in joints]

    def refresh(self) -> None:
        """Bring positions and the Jacobian up to date after physics steps or a restore."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacSite(self._model, self._data, self._full[:3], self._full[3:], self._site)
        mujoco.mju_mat2Quat(self.quaternion, self.rotation)

    def remember_start(self) -> None:
        """Take the present state as the one that progress is measured from."""
        self.start_hand = self.hand.copy()
        self.start = self.positions()

    @property
    def yaw(self) -> float:
        """The hand's turn about the vertical, in radians within (-pi, pi]."""
        return atan2(self.rotation[3], self.rotation[0])

    @property
    def gap(self) -> float:
        """Distance between the fingers, in metres."""
        return float(self.fingers[0] + self.fingers[1])

    def hand_velocity(self) -> Floats:
        """Of the point between the fingertips, `[3]` m/s."""
        velocity: Floats = self.jacobian[:3] @ self._data.qvel[self._arm]
        return velocity

    def axis_angle(self) -> Floats:
        """The hand's turn from pointing straight down, `[3]` radians."""
        turn = np.empty(3)
        mujoco.mju_quat2Vel(turn, self.quaternion, 1.0)
        return turn

    def positions(self) -> Floats:
        """Of all roles, `[R, 3]`; a copy."""
        positions: Floats = self._data.xpos[self.bodies]
        return positions

    def matrices(self) -> Floats:
        """Rotation matrices of all roles by rows, `[R, 9]`; a copy."""
        matrices: Floats = self._data.xmat[self.bodies]
        return matrices

    def values(self) -> list[float]:
        """Joint values of all roles."""
        return [self.value(role) for role in range(len(self._values))]

    def approach(self, role: int, near: float) -> float:
        """Share of the hand's way to within `near` of `role` that is covered, in [0, 1]."""
        way = float(np.linalg.norm(self.start[role] - self.start_hand)) - near
        return covered(self.distance(role) - near, way)

    def position(self, role: int) -> Floats:
        """Of the body that plays `role`, `[3]` metres; a view, not a copy."""
        position: Floats = self._data.xpos[self.bodies[role]]
        return position

    def matrix(self, role: int) -> Floats:
        """Its rotation matrix by rows, `[9]`."""
        matrix: Floats = self._data.xmat[self.bodies[role]]
        return matrix

    def value(self, role: int) -> float:
        """Value of its hinge (radians) or slide (metres); 0 if it has neither."""
        address = self._values[role]
        return float(self._data.qpos[address]) if address >= 0 else 0.0

    def speed(self, role: int) -> float:
        """Speed of a loose thing, in m/s; its turning is left out."""
        # Contact points between boxes jump at times, which gives a thing at rest a twist.
        address = int(self._model.body_dofadr[self.bodies[role]])
        return float(np.linalg.norm(self._data.qvel[address : address + 3]))

    def distance(self, role: int) -> float:
        """From the hand to the body that plays `role`, in metres."""
        return float(np.linalg.norm(self.position(role) - self.hand))

    def _hinge_or_slide(self, joint: int) -> int:
        if joint < 0 or self._model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            return -1
        return int(self._model.jnt_qposadr[joint])


def covered(left: float, way: float) -> float:
    """Share of a `way` that is covered when `left` of it is left, in [0, 1]."""
    return min(max(1.0 - left / max(way, 1e-6), 0.0), 1.0)
