"""Cartesian control of the hand: each action moves a commanded pose, which the joints follow.

The commanded pose becomes joint targets of position servos by one damped least-squares step
from the present posture (Wampler 1986: `dq = J^T (J J^T + k I)^-1 e`). It stays inside the
workspace, near upright, and on a short leash to the real hand, so that pushing against
something does not wind it up.
"""

from __future__ import annotations

from math import cos, hypot, sin

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.arm import ARM_JOINTS, FINGER_TRAVEL, SQUEEZE
from wmrl_gym.envs.vla.physics import mujoco
from wmrl_gym.envs.vla.view import SceneView

Floats = NDArray[np.float64]

MOVE = 0.025
"""Metres that a full action moves the hand along an axis: 0.5 m/s."""
TURN = 0.15
"""Radians that a full action turns the hand about an axis."""
GRIP = 0.25
"""Share of its whole way that a full action closes the gripper."""

WORKSPACE = np.array([[-0.25, -0.32, 0.012], [0.25, 0.32, 0.36]])
_LEASH = 0.06
_TURN_LEASH = 0.5
_MOST_TILT, _MOST_YAW = 0.5, 2.7
_DAMPING = 1e-3 * np.eye(6)
_JOINTS = len(ARM_JOINTS)


class HandController:
    """Turns actions into the servos' targets; holds the commanded pose.

    Args:
        model: The compiled scene.
        data: Its state, whose `ctrl` this writes.
        view: Where the hand is now.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, view: SceneView) -> None:
        self._view = view
        self._ctrl = data.ctrl
        self._angles = data.qpos[-_JOINTS - 2 : -2]
        self._limits = model.jnt_range[-_JOINTS - 2 : -2].T.copy()
        self._error = np.zeros(6)
        self._quaternions = np.zeros((3, 4))
        self._axis = np.zeros(3)
        self.position = np.zeros(3)
        """Commanded position of the hand, `[3]`."""
        self.turn = np.zeros(3)
        """Commanded orientation: tilt about x and about y, and yaw before it, `[3]` radians."""
        self.opening = 1.0
        """Commanded opening of the gripper, from 0 (closed) to 1."""

    def reset(self) -> None:
        """Command the pose that the hand has now, without tilt, and an open gripper."""
        self.position[:] = self._view.hand
        self.turn[:] = 0.0, 0.0, self._view.yaw
        self.opening = 1.0
        self.command(np.zeros(7))

    def command(self, action: Floats) -> None:
        """Move the commanded pose by `action`, `[7]` within [-1, 1], and set the servos."""
        self._move(action[:3])
        self._rotate(*(TURN * action[3:6]).tolist())
        self.opening = min(max(self.opening - GRIP * float(action[6]), 0.0), 1.0)
        jacobian = self._view.jacobian
        spread = np.linalg.solve(jacobian @ jacobian.T + _DAMPING, self._error)
        target = self._angles + jacobian.T @ spread
        np.clip(target, self._limits[0], self._limits[1], out=self._ctrl[:_JOINTS])
        self._ctrl[_JOINTS:] = self.opening * (FINGER_TRAVEL + SQUEEZE) - SQUEEZE

    def state(self) -> Floats:
        """The commanded pose and opening, `[7]`."""
        return np.concatenate([self.position, self.turn, [self.opening]])

    def restore(self, state: Floats) -> None:
        """Go back to a `state`; the servos' targets are part of the simulator's own state."""
        self.position[:] = state[:3]
        self.turn[:] = state[3:6]
        self.opening = float(state[6])

    def _move(self, motion: Floats) -> None:
        self.position += MOVE * motion
        np.clip(self.position, WORKSPACE[0], WORKSPACE[1], out=self.position)
        offset = self.position - self._view.hand
        distance = float(np.sqrt(offset @ offset))
        if distance > _LEASH:
            offset *= _LEASH / distance
            self.position[:] = self._view.hand + offset
        self._error[:3] = offset

    def _rotate(self, about_x: float, about_y: float, about_z: float) -> None:
        """Apply a small turn, given in the world's axes, and write the remaining error."""
        tilt_x, tilt_y, yaw = self.turn.tolist()
        c, s = cos(about_z), sin(about_z)
        tilt_x, tilt_y = c * tilt_x - s * tilt_y + about_x, s * tilt_x + c * tilt_y + about_y
        tilt = hypot(tilt_x, tilt_y)
        if tilt > _MOST_TILT:
            tilt_x, tilt_y = tilt_x * _MOST_TILT / tilt, tilt_y * _MOST_TILT / tilt
        yaw = min(max(yaw + about_z, -_MOST_YAW), _MOST_YAW)
        yaw = min(max(yaw, self._view.yaw - _TURN_LEASH), self._view.yaw + _TURN_LEASH)
        self.turn[:] = tilt_x, tilt_y, yaw
        self._orientation_error(tilt_x, tilt_y, yaw)

    def _orientation_error(self, tilt_x: float, tilt_y: float, yaw: float) -> None:
        tilted, yawed, wanted = self._quaternions
        half = 0.5 * hypot(tilt_x, tilt_y)
        scale = 0.5 * sin(half) / half if half else 0.5
        tilted[:] = cos(half), scale * tilt_x, scale * tilt_y, 0.0
        yawed[:] = cos(0.5 * yaw), 0.0, 0.0, sin(0.5 * yaw)
        mujoco.mju_mulQuat(wanted, tilted, yawed)
        actual = self._view.quaternion
        mujoco.mju_subQuat(self._axis, wanted, actual)
        mujoco.mju_rotVecQuat(self._error[3:], self._axis, actual)
