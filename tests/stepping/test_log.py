"""What the log of a run keeps of stepped and of imagined episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.stepping.toys import ExactDynamics, PointEnv, play, straight
from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.executors.episode_log import read_rows


def test_real_and_imagined_episodes_are_logged(tmp_path: Path) -> None:
    env = WorldModelRewardWrapper(
        PointEnv(), world_model=ExactDynamics(), anchor_fraction=0.5, gate_threshold=0.0
    )
    env.anchored.log = str(tmp_path / "episodes.jsonl")
    anchor = next(g for g in range(100) if env.correction.is_anchor(g))
    other = next(g for g in range(100) if not env.correction.is_anchor(g))
    for group in (anchor, other):
        play(env, straight, seed=3, options={"group": group})
    real, imagined = read_rows(tmp_path / "episodes.jsonl")
    assert (real.group, real.anchor, real.real, real.true) == (anchor, True, True, 1.0)
    assert (imagined.group, imagined.real, imagined.predicted) == (other, False, 1.0)
    assert np.isnan(imagined.true)
    assert real.feedback == imagined.feedback == "4 steps"
    env.close()
