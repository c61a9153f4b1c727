"""An ensemble on episodes of a real simulator: what it learns is of use, and the report says so."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import pytest

from wmrl_gym.envs.vla.base_env import VLABaseEnv
from wmrl_gym.envs.vla.policies import ExpertPolicy
from wmrl_gym.envs.vla.rollouts import Start, play
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import EnsembleDynamics, require_fit
from wmrl_gym.world_models.dynamics.report import dynamics_report

SKILLS = (1.0, 0.8, 0.6, 0.4, 0.2)


def record(envs: list[VLABaseEnv], each: int, first: int) -> Iterator[EpisodeRecord]:
    """Episodes of experts of five skills, in turn."""
    rng = np.random.default_rng(first)
    by_skill = [
        list(
            play(
                envs,
                lambda batch, skill=skill: ExpertPolicy(batch, skill=skill, rng=rng),
                [Start("reach", first + 1000 * number + index) for index in range(each)],
                label=f"expert {skill}",
            )
        )
        for number, skill in enumerate(SKILLS)
    ]
    for alike in zip(*by_skill, strict=True):
        yield from alike


@pytest.mark.slow
def test_reaching_is_learned_from_its_states() -> None:
    envs = [gym.make("wmrl_gym:WMRL-VLA-State-v0", task="reach").unwrapped for _ in range(4)]
    training, held_out = list(record(envs, 24, first=0)), list(record(envs, 12, first=100))
    model = EnsembleDynamics.for_spaces(
        envs[0].observation_space, envs[0].action_space, hidden=64, updates=300
    ).fit(training)
    require_fit(model, envs[0].observation_space, envs[0].action_space, "reach")
    (found,) = dynamics_report(model, held_out)
    assert found.passes(0.6), found
    assert found.skill_correlation > 0.6, found
    assert found.state_errors[8] < 0.4, found
