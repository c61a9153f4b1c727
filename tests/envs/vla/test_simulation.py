"""The simulation: what an action does, limits, exact repetition, observations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.envs.vla.scenes import STILL, run_expert, scene
from wmrl_gym.envs.vla.controller import GRIP, MOVE, TURN, WORKSPACE
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.initial_states import initial_state
from wmrl_gym.envs.vla.observation import OBSERVATION_SIZE
from wmrl_gym.envs.vla.simulation import Simulation


def act(simulation: Simulation, axis: int, amount: float, steps: int) -> None:
    action = np.zeros(7)
    action[axis] = amount
    for _ in range(steps):
        simulation.step(action)


def settle(simulation: Simulation) -> None:
    for _ in range(12):
        simulation.step(STILL)


@pytest.mark.parametrize(("axis", "amount"), [(0, 1.0), (1, -1.0), (2, -0.5)])
def test_a_move_goes_where_it_says(axis: int, amount: float) -> None:
    simulation = scene("reach")
    start = simulation.view.hand.copy()
    act(simulation, axis, amount, 4)
    settle(simulation)
    expected = np.zeros(3)
    expected[axis] = 4 * amount * MOVE
    assert np.allclose(simulation.view.hand - start, expected, atol=1e-3)
    assert np.allclose(simulation.view.axis_angle(), 0.0, atol=5e-3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_turn_is_about_the_axis_that_it_says(axis: int) -> None:
    simulation = scene("reach")
    start = simulation.view.hand.copy()
    act(simulation, 3 + axis, 1.0, 3)
    settle(simulation)
    expected = np.zeros(3)
    expected[axis] = 3 * TURN
    assert np.allclose(simulation.view.axis_angle(), expected, atol=5e-3)
    assert np.allclose(simulation.view.hand, start, atol=2e-3)


def test_the_gripper_closes_opens_and_holds() -> None:
    simulation = scene("reach")
    assert simulation.view.gap == pytest.approx(0.08, abs=1e-3)
    act(simulation, 6, 1.0, round(1 / GRIP))
    settle(simulation)
    assert simulation.view.gap == pytest.approx(0.0, abs=2e-3)
    act(simulation, 6, -1.0, round(0.5 / GRIP))
    settle(simulation)
    assert simulation.view.gap == pytest.approx(2 * (0.5 * 0.048 - 0.008), abs=2e-3)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("side", [0, 1])
def test_the_hand_stays_in_the_workspace(axis: int, side: int) -> None:
    simulation = scene("reach")
    act(simulation, axis, 2.0 * side - 1.0, 40)
    assert simulation.view.hand[axis] == pytest.approx(WORKSPACE[side][axis], abs=5e-3)
    assert simulation.data.ncon == 0


def test_tilt_and_yaw_are_limited() -> None:
    simulation = scene("reach")
    act(simulation, 3, 1.0, 30)
    assert simulation.view.axis_angle()[0] == pytest.approx(0.5, abs=0.02)
    act(simulation, 3, -1.0, 4)
    act(simulation, 5, 1.0, 40)
    settle(simulation)
    assert simulation.view.yaw == pytest.approx(2.7, abs=0.05)


def test_pushing_against_the_table_does_not_wind_up() -> None:
    simulation = scene("push")
    act(simulation, 4, 1.0, 4)
    act(simulation, 2, -1.0, 40)
    low = float(simulation.view.hand[2])
    act(simulation, 2, 1.0, 5)
    assert simulation.view.hand[2] > low + 0.05


def rollout(simulation: Simulation, actions: NDArray[np.float64]) -> NDArray[np.float32]:
    seen = []
    for action in actions:
        simulation.step(action)
        seen.append(simulation.state_vector())
    return np.array(seen)


@pytest.mark.parametrize("task", list(FAMILIES))
def test_a_reset_repeats_bit_for_bit_whatever_came_before(task: str) -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (15, 7))
    fresh = scene(task, 3)
    used = scene(task, 4, "held_out")
    run_expert(used, skill=0.5)
    used.reset(initial_state(task, "train", 3))
    assert np.array_equal(fresh.physics_state(), used.physics_state())
    assert np.array_equal(rollout(fresh, actions), rollout(used, actions))


@pytest.mark.parametrize("task", list(FAMILIES))
def test_a_restored_state_goes_on_bit_for_bit(task: str) -> None:
    simulation = scene(task)
    expert_actions = np.random.default_rng(1).uniform(-1, 1, (20, 7))
    rollout(simulation, expert_actions)  # in motion: the warm start and the commands matter
    saved = simulation.physics_state()
    seen = rollout(simulation, expert_actions)
    other = scene(task)
    other.restore_physics(saved)
    assert np.array_equal(rollout(other, expert_actions), seen)
    simulation.restore_physics(saved)
    assert np.array_equal(rollout(simulation, expert_actions), seen)


def test_a_state_of_another_scene_is_refused() -> None:
    saved = scene("stack").physics_state()
    with pytest.raises(ValueError, match=r"state has shape .* but 'reach' needs"):
        scene("reach").restore_physics(saved)


def test_a_simulation_that_was_not_reset_says_so() -> None:
    with pytest.raises(RuntimeError, match="call reset"):
        _ = Simulation(FAMILIES["reach"]).instruction


def test_colours_are_of_one_simulation_only() -> None:
    first, second = scene("stack", 0), scene("stack", 1)
    painted = first.model.geom("cube_a_skin").rgba.copy()
    assert not np.array_equal(painted, second.model.geom("cube_a_skin").rgba)
    second.reset(initial_state("stack", "train", 2))
    assert np.array_equal(painted, first.model.geom("cube_a_skin").rgba)


def test_the_observation_says_where_everything_is() -> None:
    simulation = scene("pick_place")
    seen = simulation.state_vector()
    view = simulation.view
    assert seen.shape == (OBSERVATION_SIZE,)
    assert seen.dtype == np.float32
    assert np.allclose(seen[:8], simulation.proprioception())
    assert np.allclose(seen[:3], view.hand, atol=1e-6)
    for role in range(4):
        thing = seen[14 + 13 * role : 27 + 13 * role]
        assert np.allclose(thing[:3], view.position(role), atol=1e-6)
        assert np.allclose(thing[3:6], view.position(role) - view.hand, atol=1e-6)
        matrix = view.matrix(role).reshape(3, 3)
        assert np.allclose(thing[6:12], [*matrix[:, 0], *matrix[:, 2]], atol=1e-6)
    goal = simulation.family.goal(view)
    assert np.allclose(seen[66:69], goal, atol=1e-6)
    assert np.allclose(seen[69:72], goal - view.hand, atol=1e-6)
    assert np.allclose(seen[72:75], goal - view.position(0), atol=1e-6)
    assert seen[76:].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_unused_roles_are_zero_and_joints_are_seen() -> None:
    simulation = scene("knob")
    seen = simulation.state_vector()
    assert not seen[14 + 26 : 66].any()
    assert abs(seen[75]) == pytest.approx(1.2)
    act(simulation, 0, 1.0, 3)
    moving = simulation.state_vector()
    assert moving[8] > 0.2  # metres per second along x
    assert moving[11] > 0.005  # the command is ahead of the hand
