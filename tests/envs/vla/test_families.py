"""Success and progress of each family, on states that are put together by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.envs.vla.scenes import STILL, put, put_hand, scene, scene_of, turn_joint
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.families.layout import clearance, scatter
from wmrl_gym.envs.vla.families.shapes import HALF, TRAY_HEIGHT

AWAY = (-0.2, 0.0, 0.3)
"""A place for the hand that is far from everything."""


@pytest.mark.parametrize("task", list(FAMILIES))
@pytest.mark.parametrize("split", ["train", "held_out"])
def test_no_episode_starts_solved_or_with_progress(task: str, split: str) -> None:
    for init_state_id in range(3):
        simulation = scene(task, init_state_id, split)
        assert not simulation.success()
        assert simulation.progress() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("task", list(FAMILIES))
def test_everything_rests_after_settling(task: str) -> None:
    simulation = scene(task)
    before = simulation.view.positions()
    for _ in range(10):
        simulation.step(STILL)
    assert np.allclose(simulation.view.positions(), before, atol=5e-4)


def test_reach_asks_for_two_centimetres() -> None:
    simulation = scene("reach")
    x, y, z = simulation.view.position(0)
    put_hand(simulation, (x, y, z + 0.019))
    assert simulation.success()
    put_hand(simulation, (x, y, z + 0.025))
    assert not simulation.success()
    assert simulation.progress() > 0.9


def test_push_asks_for_the_object_in_the_zone_and_on_the_table() -> None:
    simulation = scene("push")
    x, y, _ = simulation.view.position(1)
    put(simulation, 0, (x + 0.03, y, HALF))
    assert simulation.success()
    put(simulation, 0, (x + 0.04, y, HALF))
    assert not simulation.success()
    put(simulation, 0, (x, y, 0.1))
    assert not simulation.success()


def test_pick_place_asks_for_the_right_tray() -> None:
    simulation = scene("pick_place")
    put_hand(simulation, AWAY)
    x, y, _ = simulation.view.position(1)
    put(simulation, 0, (x, y, TRAY_HEIGHT + HALF))
    assert simulation.success()
    other = simulation.data.body("tray_b").xpos
    put(simulation, 0, (other[0], other[1], TRAY_HEIGHT + HALF))
    assert not simulation.success()
    put(simulation, 0, (x + 0.06, y, TRAY_HEIGHT + HALF))
    assert not simulation.success()


def test_a_thing_that_is_still_held_is_not_placed() -> None:
    simulation = scene("pick_place")
    x, y, _ = simulation.view.position(1)
    place = (x, y, TRAY_HEIGHT + HALF)
    put(simulation, 0, place)
    put_hand(simulation, place)
    assert simulation.success()  # around it, but wide open
    simulation.data.qpos[-2:] = HALF
    assert not simulation.success()


def test_a_thing_that_falls_is_not_placed_yet() -> None:
    simulation = scene("stack")
    put_hand(simulation, AWAY)
    x, y, _ = simulation.view.position(1)
    put(simulation, 0, (x, y, 3 * HALF))
    assert simulation.success()
    speed = int(simulation.model.body_dofadr[simulation.view.bodies[0]])
    simulation.data.qvel[speed + 2] = -0.5
    assert not simulation.success()


def test_a_stack_stands_and_the_wrong_one_does_not_count() -> None:
    simulation = scene("stack")
    put_hand(simulation, AWAY)
    x, y, _ = simulation.view.position(1)
    put(simulation, 0, (x + 0.005, y, 3 * HALF))
    simulation.controller.reset()
    for _ in range(10):
        simulation.step(STILL)
    assert simulation.success()
    x, y, _ = simulation.view.position(2)
    put(simulation, 0, (x, y, 3 * HALF))
    assert not simulation.success()


@pytest.mark.parametrize(("action", "done", "undone"), [("open", 0.1, 0.09), ("close", 0.01, 0.02)])
def test_a_drawer_is_opened_or_closed(action: str, done: float, undone: float) -> None:
    simulation = scene_of("drawer", action, "blue")
    turn_joint(simulation, 0, undone)
    assert not simulation.success()
    assert simulation.progress() > 0.5
    turn_joint(simulation, 1, done)
    assert not simulation.success()
    turn_joint(simulation, 0, done)
    assert simulation.success()
    assert simulation.progress() == 1.0


def test_only_the_right_button_may_be_down() -> None:
    simulation = scene("button")
    turn_joint(simulation, 0, -0.014)
    assert simulation.success()
    turn_joint(simulation, 1, -0.014)
    assert not simulation.success()
    turn_joint(simulation, 0, 0.0)
    assert not simulation.success()


@pytest.mark.parametrize(("direction", "sign"), [("clockwise", -1), ("counterclockwise", 1)])
def test_a_knob_is_turned_the_right_way(direction: str, sign: int) -> None:
    simulation = scene_of("knob", "green", direction)
    turn_joint(simulation, 0, sign * 1.15)
    assert simulation.success()
    turn_joint(simulation, 0, sign * 1.05)
    assert not simulation.success()
    turn_joint(simulation, 0, -sign * 1.2)
    assert not simulation.success()
    assert simulation.progress() == pytest.approx(0.0, abs=1e-9)


def test_clockwise_is_as_seen_from_above() -> None:
    simulation = scene_of("knob", "green", "clockwise")
    start = np.arctan2(simulation.view.matrix(0)[3], simulation.view.matrix(0)[0])
    turn_joint(simulation, 0, simulation.view.goal_value)
    turned = np.arctan2(simulation.view.matrix(0)[3], simulation.view.matrix(0)[0])
    assert turned - start == pytest.approx(-1.2)


def test_sorting_pays_half_for_each_object() -> None:
    simulation = scene("sort")
    put_hand(simulation, AWAY)
    a, b = simulation.view.position(2).copy(), simulation.view.position(3).copy()
    put(simulation, 0, (a[0], a[1], TRAY_HEIGHT + HALF))
    assert not simulation.success()
    assert 0.5 <= simulation.progress() < 0.7
    put(simulation, 1, (a[0] + 0.044, a[1], TRAY_HEIGHT + HALF))
    assert not simulation.success()
    put(simulation, 1, (b[0], b[1], TRAY_HEIGHT + HALF))
    assert simulation.success()


def test_compositions_of_a_stack_never_name_one_cube_twice() -> None:
    assert all(a != b for a, b in FAMILIES["stack"].compositions("train"))
    assert len(FAMILIES["stack"].compositions("train")) == 24
    assert len(FAMILIES["stack"].compositions("held_out")) == 6


def test_clearance_is_the_distance_from_a_segment() -> None:
    start, end = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    assert clearance(np.array([1.0, 0.5]), start, end) == pytest.approx(0.5)
    assert clearance(np.array([5.0, 4.0]), start, end) == pytest.approx(5.0)


def test_scattered_discs_do_not_overlap() -> None:
    places = scatter(np.random.default_rng(0), [0.05, 0.08])
    assert np.hypot(*np.subtract(*places)) >= 0.13
    with pytest.raises(RuntimeError, match=r"no room for discs of radii \[1.0, 1.0\]"):
        scatter(np.random.default_rng(0), [1.0, 1.0])
