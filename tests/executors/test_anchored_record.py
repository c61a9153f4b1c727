"""The record of episodes, and the fusion, as the anchored executor carries them out."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import wmrl_gym
from wmrl_gym.agents import GRPO, WeightedPPO
from wmrl_gym.envs.synthetic import SyntheticWorldModel
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.executors.episode_log import read_rows


def make(**options: object) -> wmrl_gym.WorldModelRewardVectorWrapper:
    envs = gym.make_vec("WMRL-Synthetic-v0", num_envs=8, autoreset_mode="Disabled")
    return wmrl_gym.WorldModelRewardVectorWrapper(
        envs,
        world_model=SyntheticWorldModel(noise=0.1),
        anchor_fraction=0.25,
        correction_options=options,
    )


def train(env: wmrl_gym.WorldModelRewardVectorWrapper, batches: int = 6) -> GRPO:
    model = GRPO("MlpPolicy", env, group_size=4, groups_per_batch=2, seed=0)
    return model.learn(8 * batches)


def test_every_finished_episode_leaves_a_row(tmp_path: Path) -> None:
    env = make()
    env.anchored.log = str(tmp_path / "episodes.jsonl")
    train(env)
    env.close()
    rows = list(read_rows(tmp_path / "episodes.jsonl"))
    assert len(rows) == 48
    anchors = {row.group for row in rows if row.anchor}
    assert len(anchors) == 3
    for row in rows:
        assert row.real == row.anchor
        assert np.isnan(row.true) == (not row.real)
        assert not np.isnan(row.calibrated)
        assert row.artifact.startswith("[")


def test_prediction_powered_anchors_carry_a_control() -> None:
    env = make(fusion="prediction_powered")
    for group in range(8):
        env.reset(seed=group, options={"group": group})
        *_, infos = env.step(env.action_space.sample())
        anchor = infos["wmrl/anchor"][0]
        assert infos["wmrl/weight"][0] == (4.0 if anchor else 1.0)
        assert infos["wmrl/control"][0] == (-3.0 if anchor else 0.0)
    env.close()


def test_allocation_moves_anchors_between_tasks() -> None:
    env = make(fusion="prediction_powered", allocate=True)
    env.correction.allocation.update([0.0] * 4000, ["tin"] * 4000)
    env.correction.allocation.update([0.5] * 4000, ["zinc"] * 4000)
    drawn: dict[str, list[bool]] = {"tin": [], "zinc": []}
    for group in range(120):
        task = ("tin", "zinc")[group % 2]
        env.reset(seed=0, options={"group": group, "task": task})
        *_, infos = env.step(env.action_space.sample())
        drawn[task].append(bool(infos["wmrl/anchor"][0]))
    env.close()
    assert np.mean(drawn["tin"]) < 0.15
    assert np.mean(drawn["zinc"]) > 0.35


def test_grpo_trains_with_every_option() -> None:
    for options in (
        {"fusion": "prediction_powered"},
        {"fusion": "prediction_powered", "allocate": True},
        {"max_anchor_fraction": 0.5},
        {"exponent": 0.5},
    ):
        env = make(**options)
        assert train(env, batches=3).groups_done == 6
        env.close()


def test_ppo_refuses_what_needs_groups() -> None:
    env = make(fusion="prediction_powered")
    model = WeightedPPO("MlpPolicy", env, n_steps=8, batch_size=64, seed=0)
    with pytest.raises(UnsupportedEnvironmentError, match="use GRPO"):
        model.learn(64 * 4)
    env.close()
