"""The report must recognise a good model, and above all a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.world_models.dynamics.double_integrator import ACTIONS, SIZE, advance, record, solved
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import EnsembleDynamics, ImaginedStep
from wmrl_gym.world_models.dynamics.report import (
    dynamics_report,
    reward_report,
    write_calibration_plot,
    write_report,
)


class Exact(EnsembleDynamics):
    """The system itself in the place of a model of it."""

    def step(self, observations: np.ndarray, actions: np.ndarray) -> ImaginedStep:
        following = advance(observations, actions)
        nothing = np.zeros(len(following))
        done = solved(following).astype(np.float64)
        return ImaginedStep(following, nothing, done, nothing, done)


class Upside(Exact):
    """The system with success and failure mistaken for each other."""

    def step(self, observations: np.ndarray, actions: np.ndarray) -> ImaginedStep:
        real = super().step(observations, actions)
        distance = np.linalg.norm(real.observations[:, 6:8], axis=-1).astype(np.float64)
        return ImaginedStep(
            real.observations, real.rewards, np.tanh(distance), real.uncertainty, real.termination
        )


@pytest.fixture(scope="module")
def held_out() -> list[EpisodeRecord]:
    return record(60, seed=1)


def test_the_system_itself_is_perfect(held_out: list[EpisodeRecord]) -> None:
    (found,) = dynamics_report(Exact(SIZE, ACTIONS), held_out)
    assert (found.task, found.validity.auc, found.validity.pairs) == ("point", 1.0, 60)
    assert found.skill_correlation == pytest.approx(1.0)
    assert found.calibration_error == 0.0
    assert found.state_errors[8] < 1e-5
    assert np.isnan(found.state_errors[60])  # no episode is that long
    assert found.passes(0.7)


def test_a_model_that_is_worse_than_useless_is_recognised(held_out: list[EpisodeRecord]) -> None:
    (found,) = dynamics_report(Upside(SIZE, ACTIONS), held_out)
    assert found.state_errors[8] < 1e-5  # its states are perfect
    assert found.validity.upper < 0.5
    assert found.skill_correlation < -0.5
    assert not found.passes(0.7)


def test_a_model_that_learned_of_something_else_is_recognised(
    held_out: list[EpisodeRecord],
) -> None:
    """Labels drawn by lot: the dynamics can be learned, what success is cannot."""
    rng = np.random.default_rng(0)
    shuffled = [
        EpisodeRecord(
            e.observations,
            e.actions,
            e.rewards,
            np.zeros(e.length),
            e.truncations,
            rng.random(e.length) < 0.05,
            task=e.task,
        )
        for e in record(40, seed=0)
    ]
    model = EnsembleDynamics(SIZE, ACTIONS, hidden=32, members=3, updates=60).fit(shuffled)
    (found,) = dynamics_report(model, held_out)
    assert not found.passes(0.7)


@pytest.mark.slow
def test_a_trained_ensemble_is_trusted(held_out: list[EpisodeRecord]) -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, hidden=64, updates=400).fit(record(120, seed=0))
    (found,) = dynamics_report(model, held_out)
    assert found.passes(0.7)
    assert found.skill_correlation > 0.7
    assert found.state_errors[30] < 0.05


def test_tasks_are_reported_one_by_one() -> None:
    episodes = record(20, seed=3, task="near") + record(15, seed=4, task="far")
    far, near = dynamics_report(Exact(SIZE, ACTIONS), episodes)
    assert (far.task, far.validity.pairs) == ("far", 15)
    assert (near.task, near.validity.pairs) == ("near", 20)


def test_reward_models_are_judged_alike(held_out: list[EpisodeRecord]) -> None:
    class Clairvoyant:
        def score(self, episodes: list[EpisodeRecord]) -> np.ndarray:
            scores = np.array([0.8 * e.success_once + 0.1 for e in episodes])
            scores[0] = np.nan
            return scores

    (found,) = reward_report(Clairvoyant(), held_out)
    assert (found.validity.auc, found.validity.pairs) == (1.0, 59)
    assert found.calibration_error == pytest.approx(0.1)
    assert found.state_errors == {}


def test_the_report_is_plain_json(held_out: list[EpisodeRecord], tmp_path: Path) -> None:
    found = dynamics_report(Exact(SIZE, ACTIONS), held_out)
    written = json.loads(write_report(tmp_path, found).read_text())
    (task,) = written["tasks"]
    assert task["validity"]["pairs"] == 60
    assert task["state_errors"]["60"] is None


def test_the_plot_is_a_picture(held_out: list[EpisodeRecord], tmp_path: Path) -> None:
    write_calibration_plot(tmp_path / "plot.png", dynamics_report(Exact(SIZE, ACTIONS), held_out))
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        dynamics_report(Exact(SIZE, ACTIONS), [])
