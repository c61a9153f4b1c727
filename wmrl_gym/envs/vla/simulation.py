"""One simulated scene of a family: reset, step, and what is seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.arm import ARM_JOINTS, FINGER_TRAVEL, arm_posture
from wmrl_gym.envs.vla.controller import HandController
from wmrl_gym.envs.vla.families import Arrangement, Family, Pose
from wmrl_gym.envs.vla.families.palette import COLOURS
from wmrl_gym.envs.vla.initial_states import InitialState
from wmrl_gym.envs.vla.observation import observe, proprioception
from wmrl_gym.envs.vla.physics import mujoco
from wmrl_gym.envs.vla.scene import compiled
from wmrl_gym.envs.vla.view import SceneView

_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_ALMOST = 0.99
"""Greatest progress of a state in which the task is not achieved."""


class Simulation:
    """A scene with its arm. Cameras: `agentview` and `wrist`.

    Args:
        family: The kind of task.
        substeps: Physics steps in each control step of 50 ms, at least 1.
        settle_steps: Control steps without motion at the end of each reset.
    """

    def __init__(self, family: Family, *, substeps: int = 10, settle_steps: int = 10) -> None:
        self.family = family
        self.substeps = substeps
        self.settle_steps = settle_steps
        # Colours change with the episode, so that every simulation has a model of its own.
        self.model: mujoco.MjModel = copy(compiled(family.bodies(), substeps))
        self.data = mujoco.MjData(self.model)
        self._skins = _skins(self.model)
        self.view = SceneView(self.model, self.data)
        self.controller = HandController(self.model, self.data, self.view)
        self.initial: InitialState | None = None

    @property
    def instruction(self) -> str:
        """What the episode asks for, in words."""
        return self.started().instruction

    def started(self) -> InitialState:
        """The initial state of this episode.

        Raises:
            RuntimeError: If there was no `reset` yet.
        """
        if self.initial is None:
            raise RuntimeError("the simulation was not reset yet: call reset(initial_state) first")
        return self.initial

    def reset(self, initial: InitialState) -> None:
        """Start from `initial`, bit for bit the same each time, and let everything settle."""
        self.initial = initial
        mujoco.mj_resetData(self.model, self.data)
        self._place(initial.arrangement)
        joints = len(ARM_JOINTS)
        self.data.qpos[-joints - 2 : -2] = arm_posture(*initial.hand)
        self.data.qpos[-2:] = FINGER_TRAVEL
        self.view.cast(initial.arrangement.roles, initial.arrangement.goal_value)
        self.view.refresh()
        self.controller.reset()
        still = np.zeros(7)
        for _ in range(self.settle_steps):
            self.step(still)
        self.view.remember_start()

    def step(self, action: NDArray[np.float64]) -> None:
        """Advance by one control step of 50 ms under `action`, `[7]` within [-1, 1]."""
        self.controller.command(action)
        mujoco.mj_step(self.model, self.data, nstep=self.substeps)
        self.view.refresh()

    def success(self) -> bool:
        """Whether the task is achieved in this state."""
        return bool(self.family.success(self.view))

    def progress(self) -> float:
        """How far the task has come, in [0, 1]: 0 at the start, 1 exactly on success."""
        if self.success():
            return 1.0
        return float(min(max(self.family.progress(self.view), 0.0), _ALMOST))

    def proprioception(self) -> NDArray[np.float32]:
        """Hand position, axis-angle and finger positions, `[8]`; see `observation`."""
        return proprioception(self.view)

    def state_vector(self) -> NDArray[np.float32]:
        """The flat observation of the whole scene; see `observation`."""
        return observe(self.view, self.controller, self.family)

    def refresh_cameras(self) -> None:
        """Bring cameras and lights up to date; call it before drawing."""
        mujoco.mj_camlight(self.model, self.data)

    def physics_state(self) -> NDArray[np.float64]:
        """Simulator (warm start and controls included) and controller, in one flat array."""
        physics = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, physics, _STATE)
        return np.concatenate([physics, self.controller.state()])

    def restore_physics(self, state: NDArray[np.float64]) -> None:
        """Go back to a `physics_state` of the same episode; what follows repeats bit for bit."""
        size = mujoco.mj_stateSize(self.model, _STATE)
        if state.shape != (size + 7,):
            raise ValueError(
                f"state has shape {state.shape}, but {self.family.name!r} needs ({size + 7},)"
            )
        mujoco.mj_setState(self.model, self.data, state[:size].copy(), _STATE)
        self.controller.restore(state[size:])
        self.view.refresh()

    def _place(self, arrangement: Arrangement) -> None:
        for name, pose in arrangement.poses.items():
            self._place_body(name, pose)
        for name, value in arrangement.values.items():
            self.data.joint(name).qpos = value
        self._paint(arrangement.colours)

    def _place_body(self, name: str, pose: Pose) -> None:
        body = self.model.body(name)
        position = pose.x, pose.y, pose.z
        quaternion = np.cos(pose.yaw / 2), 0.0, 0.0, np.sin(pose.yaw / 2)
        mocap = int(body.mocapid[0])
        if mocap >= 0:
            self.data.mocap_pos[mocap] = position
            self.data.mocap_quat[mocap] = quaternion
            return
        address = int(self.model.jnt_qposadr[body.jntadr[0]])
        self.data.qpos[address : address + 3] = position
        self.data.qpos[address + 3 : address + 7] = quaternion

    def _paint(self, colours: Mapping[str, str]) -> None:
        for name, colour in colours.items():
            for geom in self._skins[name]:
                self.model.geom_rgba[geom, :3] = COLOURS[colour]


def _skins(model: mujoco.MjModel) -> dict[str, list[int]]:
    """By body, the geoms that take its colour: their names begin with `<body>_skin`."""
    skins: dict[str, list[int]] = {}
    for geom in range(model.ngeom):
        body, skin, _ = model.geom(geom).name.partition("_skin")
        if skin:
            skins.setdefault(body, []).append(geom)
    return skins
