"""The expert: it solves every family, from the state; less skill solves less."""

from __future__ import annotations

import numpy as np
import pytest

from tests.envs.vla.scenes import run_expert, scene
from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.families import FAMILIES

BUMPS = 0.06
"""Most that progress may fall behind its best on the way: the hand rises before it goes down."""


@pytest.mark.parametrize("task", list(FAMILIES))
@pytest.mark.parametrize("split", ["train", "held_out"])
def test_the_expert_succeeds_and_its_progress_rises_to_one(task: str, split: str) -> None:
    for init_state_id in range(3):
        success, progress = run_expert(scene(task, init_state_id, split))
        assert success
        assert progress[0] == pytest.approx(0.0, abs=1e-9)
        assert progress[-1] == 1.0
        assert max(progress[:-1]) < 1.0
        assert (np.maximum.accumulate(progress) - progress).max() < BUMPS


@pytest.mark.slow
@pytest.mark.parametrize("task", list(FAMILIES))
def test_the_expert_succeeds_on_95_percent_of_the_states(task: str) -> None:
    states = [(split, number) for split in ("train", "held_out") for number in range(20, 30)]
    successes = [run_expert(scene(task, number, split))[0] for split, number in states]
    assert np.mean(successes) >= 0.95


def test_success_falls_with_skill() -> None:
    def rate(skill: float) -> float:
        runs = [run_expert(scene("button", n), skill=skill, seed=n)[0] for n in range(8)]
        return float(np.mean(runs))

    assert rate(1.0) == 1.0
    assert rate(0.0) <= 0.25
    assert rate(0.0) <= rate(0.5) <= 1.0


def test_actions_are_in_the_box_and_repeat_with_the_seed() -> None:
    def actions(seed: int) -> list[list[float]]:
        simulation = scene("push")
        expert = Expert(simulation, skill=0.3, rng=np.random.default_rng(seed))
        taken = []
        for _ in range(30):
            action = expert.act()
            assert action.dtype == np.float32
            assert np.abs(action).max() <= 1.0
            taken.append(action.tolist())
            simulation.step(action.astype(np.float64))
        return taken

    assert actions(0) == actions(0)
    assert actions(0) != actions(1)


def test_bad_arguments() -> None:
    simulation = scene("reach")
    with pytest.raises(ValueError, match=r"skill=1.5 must be in \[0, 1\]"):
        Expert(simulation, skill=1.5)
    with pytest.raises(ValueError, match=r"skill=0.5 below 1 needs an rng"):
        Expert(simulation, skill=0.5)
