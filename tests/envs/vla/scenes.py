"""Scenes for tests: fresh simulations, bodies put somewhere, and runs of the expert."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wmrl_gym.envs.vla.arm import arm_posture
from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.initial_states import initial_state
from wmrl_gym.envs.vla.simulation import Simulation

STILL = np.zeros(7)


def scene(task: str, init_state_id: int = 0, split: str = "train") -> Simulation:
    """A simulation at the start of an episode."""
    simulation = Simulation(FAMILIES[task])
    simulation.reset(initial_state(task, split, init_state_id))
    return simulation


def scene_of(task: str, *composition: str) -> Simulation:
    """A simulation at the start of an episode with this composition."""
    for init_state_id in range(1000):
        for split in ("train", "held_out"):
            if initial_state(task, split, init_state_id).composition == composition:
                return scene(task, init_state_id, split)
    raise AssertionError(f"no initial state of {task} has the composition {composition}")


def put(simulation: Simulation, role: int, place: Sequence[float]) -> None:
    """Put a loose thing somewhere, upright and at rest."""
    model, data, body = simulation.model, simulation.data, simulation.view.bodies[role]
    joint = int(model.body_jntadr[body])
    position, speed = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    data.qpos[position : position + 7] = [*place, 1.0, 0.0, 0.0, 0.0]
    data.qvel[speed : speed + 6] = 0.0
    simulation.view.refresh()


def turn_joint(simulation: Simulation, role: int, value: float) -> None:
    """Set a thing's hinge or slide."""
    joint = int(simulation.model.body_jntadr[simulation.view.bodies[role]])
    simulation.data.qpos[simulation.model.jnt_qposadr[joint]] = value
    simulation.view.refresh()


def put_hand(simulation: Simulation, place: Sequence[float]) -> None:
    """Put the hand somewhere, pointing down and open."""
    simulation.data.qpos[-8:-2] = arm_posture(*place)
    simulation.data.qpos[-2:] = 0.04
    simulation.view.refresh()


def run_expert(
    simulation: Simulation, *, skill: float = 1.0, seed: int = 0
) -> tuple[bool, list[float]]:
    """Whether the expert succeeds from here within the horizon, and progress after each step."""
    expert = Expert(simulation, skill=skill, rng=np.random.default_rng(seed))
    progress = [simulation.progress()]
    for _ in range(simulation.family.horizon):
        simulation.step(expert.act().astype(np.float64))
        progress.append(simulation.progress())
        if simulation.success():
            return True, progress
    return False, progress
