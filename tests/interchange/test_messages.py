"""Chat messages of recorded conversations."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import pytest

from tests.interchange.episodes import WINE
from wmrl_gym.interchange import RecordTrajectories, Trajectory, read_trajectories, to_messages


def conversation(path: Path) -> Trajectory:
    env = RecordTrajectories(gym.make("WMRL-MLE-v0", tasks=[WINE]), path)
    env.reset(seed=1)
    env.step("request_info: budget")
    env.step("submit")
    env.close()
    [episode] = read_trajectories(path)
    return episode


def test_a_conversation(tmp_path: Path) -> None:
    episode = conversation(tmp_path / "episodes.jsonl")
    messages = to_messages(episode, system="You are an engineer.")
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant"]
    assert messages[0]["content"] == "You are an engineer."
    assert messages[1]["content"] == episode.observation
    assert messages[2]["content"] == "request_info: budget"
    assert messages[3]["content"] == episode.steps[0].observation
    assert messages[4]["content"] == "submit"
    assert to_messages(episode) == messages[1:]


def test_numbers_are_no_conversation(tmp_path: Path) -> None:
    env = RecordTrajectories(gym.make("CartPole-v1"), tmp_path / "episodes.jsonl")
    env.reset(seed=1)
    env.close()
    [episode] = read_trajectories(tmp_path / "episodes.jsonl")
    with pytest.raises(ValueError, match="the first observation is ndarray, not text"):
        to_messages(episode)
