"""`wmrl-gym evaluate` and `collect` for the manipulation environments, as a user runs them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO

from wmrl_gym.cli import main
from wmrl_gym.episodes import load_episodes

STATES = ["--env", "WMRL-VLA-State-v0"]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a successful command prints."""
    main(list(arguments))
    return capsys.readouterr().out


def refused(*arguments: str) -> str:
    """What a command says that cannot be carried out, without frames and line breaks."""
    shown = io.StringIO()
    with pytest.raises(SystemExit) as stopped, redirect_stderr(shown):
        main(list(arguments))
    return " ".join(f"{stopped.value} {shown.getvalue()}".replace("│", " ").split())


def test_evaluate_the_expert_on_video(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    videos, out = tmp_path / "videos", tmp_path / "result.json"
    tasks = ["--tasks", "reach", "button", "--episodes", "3", "--split", "held_out"]
    small = ["--image-size", "64", "--render-profile", "fast", "--video-episodes", "1"]
    files = ["--video", str(videos), "--out", str(out), "--video-format", "gif"]
    printed = said(capsys, "evaluate", "--agent", "expert", *STATES, *tasks, *small, *files)
    assert "held_out: expert of skill 1" in printed
    result = json.loads(out.read_text())
    assert [row["label"] for row in result["success"]] == ["reach", "button", "all tasks"]
    assert [row["episodes"] for row in result["success"]] == [3, 3, 6]
    assert result["success"][0]["success_once"] == 1.0
    assert result["settings"]["render_profile"] == "fast"
    assert result["versions"]["mujoco"]
    names = sorted(path.name for path in videos.iterdir())
    assert names == ["button-0-success.gif", "reach-0-success.gif"]


def test_evaluate_a_saved_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = gym.make("wmrl_gym:WMRL-VLA-State-v0", task="reach")
    PPO("MlpPolicy", env, device="cpu").save(tmp_path / "ppo.zip")
    options = ["--tasks", "reach", "--episodes", "2", "--horizon", "5"]
    saved = ["--agent", "saved", "--policy", str(tmp_path / "ppo.zip")]
    assert "all tasks" in said(capsys, "evaluate", *saved, *STATES, *options)


def test_success_can_be_lost_when_the_episode_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    options = ["--tasks", "reach", "--episodes", "4", "--skill", "0.6", "--play-on"]
    said(capsys, "evaluate", "--agent", "expert", *STATES, *options, "--out", str(out))
    rates = json.loads(out.read_text())["success"][-1]
    assert rates["success_once"] > rates["success_at_end"]
    assert rates["low"] < rates["success_once"] < rates["high"] or rates["high"] == 1.0


def test_collect_by_skill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "episodes"
    tasks = ["--tasks", "reach", "button", "--episodes", "3", "--skill", "0", "1"]
    printed = said(capsys, "collect", *STATES, "--policy", "expert", *tasks, "--out", str(out))
    assert "reach, skill 0" in printed
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        "button-expert-0.npz",
        "button-expert-1.npz",
        "reach-expert-0.npz",
        "reach-expert-1.npz",
        "settings.json",
    ]
    episodes = load_episodes(out)
    assert len(episodes) == 12
    assert len({episode.seed for episode in episodes}) == 12
    skilled = [e for e in episodes if e.policy == "expert-1"]
    assert all(episode.success_once for episode in skilled)
    assert all(episode.observations.shape[1:] == (84,) for episode in episodes)
    again, other = tmp_path / "again", tmp_path / "other"
    options = ["--tasks", "button", "--episodes", "3"]
    said(capsys, "collect", *STATES, *options, "--out", str(again))
    said(capsys, "collect", *STATES, *options, "--out", str(other), "--seed", "1")
    first, same, different = (
        load_episodes(path / "button-expert-1.npz") for path in (out, again, other)
    )
    assert np.array_equal(first[0].observations, same[0].observations)
    assert not np.array_equal(first[0].observations[0], different[0].observations[0])
    assert "is no empty directory" in refused("collect", *STATES, "--out", str(out))


def test_collect_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--image-size", "32", "--render-profile", "fast"]
    options = ["--tasks", "reach", "--episodes", "2", "--out", str(tmp_path / "out")]
    said(capsys, "collect", "--env", "WMRL-VLA-v0", *small, *options)
    for episode in load_episodes(tmp_path / "out"):
        assert episode.observations.shape == (episode.length + 1, 8)
        assert episode.frames is not None
        assert episode.frames.shape == (episode.length + 1, 32, 32, 3)


def test_bad_input(tmp_path: Path) -> None:
    evaluate = ["evaluate", "--agent"]
    assert "policy=None goes with --agent saved" in refused(*evaluate, "saved")
    assert "goes with --agent saved" in refused(*evaluate, "expert", "--policy", "x.zip")
    assert "task='fly' is unknown" in refused(*evaluate, "random", "--tasks", "fly")
    assert "episodes=0 must be at least 1" in refused(*evaluate, "random", "--episodes", "0")
    assert "skill=2.0 must be in [0, 1]" in refused(
        *evaluate, "expert", "--skill", "2", "--tasks", "reach"
    )
    assert "belongs to --agent" in refused("evaluate", "--skill", "1")
    out = ["--out", str(tmp_path / "x")]
    assert "skill=(2.0,) must be" in refused("collect", *STATES, "--skill", "2", *out)
    assert "policy='me' must be expert" in refused("collect", *STATES, "--policy", "me", *out)
