"""Episodes of single environments on disk and back."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import wmrl_gym
from tests.interchange.episodes import SCRIPT, WINE, strict_lines
from tests.wrappers.toys import register_toy
from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.interchange import RecordTrajectories, read_trajectories


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "episodes.jsonl"


@pytest.mark.slow
def test_an_episode_with_real_executions(path: Path) -> None:
    before = datetime.now(UTC)
    env = RecordTrajectories(gym.make("WMRL-MLE-v0", tasks=[WINE], max_turns=3), path)
    told = [env.reset(seed=5, options={"task": WINE})[0]]
    actions = ["gibberish", "request_info: budget", SCRIPT]
    rewards = []
    for action in actions:
        observation, reward, *_ = env.step(action)
        told.append(observation)
        rewards.append(reward)
    # It is there when the episode ends, not when the environment is closed.
    [episode] = read_trajectories(path)
    env.close()
    assert len(list(read_trajectories(path))) == 1
    assert episode.env_id == "WMRL-MLE-v0"
    assert episode.env_kwargs == {"tasks": [WINE], "max_turns": 3}
    assert (episode.seed, episode.options) == (5, {"task": WINE})
    assert [episode.observation, *(step.observation for step in episode.steps)] == told
    assert [step.action for step in episode.steps] == actions
    assert [step.reward for step in episode.steps] == rewards
    assert episode.total_reward == pytest.approx(episode.steps[-1].info["score"])
    assert episode.total_reward >= 0.5
    assert [step.terminated for step in episode.steps] == [False, False, True]
    assert episode.finished
    assert before <= episode.started <= datetime.now(UTC)
    assert episode.started.utcoffset() == UTC.utcoffset(None)
    assert 0 < episode.seconds < 60
    assert episode.version == wmrl_gym.__version__


def test_arrays_of_a_classic_environment(path: Path) -> None:
    env = RecordTrajectories(gym.make("CartPole-v1", max_episode_steps=5), path)
    first, _ = env.reset(seed=1)
    done = False
    followed = []
    while not done:
        observation, _, terminated, truncated, _ = env.step(np.int64(len(followed) % 2))
        followed.append(observation)
        done = terminated or truncated
    env.close()
    [episode] = read_trajectories(path)
    np.testing.assert_array_equal(episode.observation, first)
    for step, observation in zip(episode.steps, followed, strict=True):
        np.testing.assert_array_equal(step.observation, observation)
        assert step.observation.dtype == np.float32
    assert [step.action for step in episode.steps] == [0, 1, 0, 1, 0]
    assert [step.truncated for step in episode.steps] == [False] * 4 + [True]
    assert not episode.steps[-1].terminated
    assert episode.finished
    assert (episode.env_id, episode.env_kwargs) == ("CartPole-v1", {"max_episode_steps": 5})


def test_episodes_that_are_left_are_marked(path: Path) -> None:
    env = RecordTrajectories(gym.make("CartPole-v1"), path)
    env.reset(seed=1)
    env.step(0)
    env.reset()
    env.step(1)
    env.step(0)
    env.close()
    env.close()
    episodes = list(read_trajectories(path))
    assert [episode.finished for episode in episodes] == [False, False]
    assert [len(episode.steps) for episode in episodes] == [1, 2]
    assert [episode.episode for episode in episodes] == [0, 1]
    assert [episode.seed for episode in episodes] == [1, None]


def toy(path: Path, **model: Any) -> tuple[gym.Env[Any, Any], gym.Env[Any, Any]]:
    """The toy recorded below and above the reward wrapper."""
    below = RecordTrajectories(gym.make(register_toy()), path.with_name("below.jsonl"))
    wrapped = WorldModelRewardWrapper(
        below, world_model="tests.wrappers.toys:SquareWorldModel", anchor_fraction=0.5, seed=3
    )
    return wrapped, RecordTrajectories(wrapped, path)


def test_below_and_above_the_reward_wrapper(path: Path) -> None:
    _, env = toy(path)
    for group in range(4):
        env.reset(seed=group, options={"group": group})
        for _ in range(3):
            env.step(1)
    env.close()
    lines = strict_lines(path)
    assert len(lines) == 4
    for group, episode in enumerate(read_trajectories(path)):
        info = episode.steps[-1].info
        assert info["wmrl/group"] == group
        assert isinstance(info["wmrl/anchor"], bool)
        # NaN where there is no true score: null in the file.
        assert (info["wmrl/score_true"] is None) == (not info["wmrl/anchor"])
        assert episode.options == {"group": group}
        assert episode.wrappers[-1] == "WorldModelRewardWrapper"
    assert {e.steps[-1].info["wmrl/anchor"] for e in read_trajectories(path)} == {True, False}
    below = list(read_trajectories(path.with_name("below.jsonl")))
    assert len(below) == 4
    assert not any(key.startswith("wmrl/") for key in below[0].steps[-1].info)


def test_it_survives_its_specification(path: Path) -> None:
    _, env = toy(path)
    spec = EnvSpec.from_json(env.spec.to_json())
    assert [part.name for part in spec.additional_wrappers][-1] == "RecordTrajectories"
    again = gym.make(spec)
    assert isinstance(again, RecordTrajectories)
    again.reset(seed=1)
    again.close()
    assert list(read_trajectories(path))[-1].env_id == "tests/Counting-v0"
    env.close()


def test_a_pickled_recorder_goes_on_where_it_was(path: Path) -> None:
    env = RecordTrajectories(gym.make(register_toy(), length=2), path)
    env.reset(seed=1)
    env.step(0)
    copy = pickle.loads(pickle.dumps(env))
    copy.step(1)
    [episode] = read_trajectories(path)
    assert [step.action for step in episode.steps] == [0, 1]


def test_what_the_environment_does_to_its_data_later_changes_nothing(path: Path) -> None:
    class Mutating(gym.Env[Any, Any]):
        observation_space = gym.spaces.Box(0, 9, (1,), np.float64)
        action_space = gym.spaces.Box(0, 9, (1,), np.float64)
        board = np.zeros(1)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            self.board[:] = 0
            return self.board, {}

        def step(self, action: Any) -> Any:
            self.board += 1
            action[:] = 9
            return self.board, float("nan"), False, False, {"board": self.board}

    env = RecordTrajectories(Mutating(), path)
    env.reset()
    env.step(np.array([1.0]))
    env.step(np.array([2.0]))
    env.close()
    [episode] = read_trajectories(path)
    assert episode.env_id is None
    assert episode.observation.tolist() == [0.0]
    assert [step.observation.tolist() for step in episode.steps] == [[1.0], [2.0]]
    assert [step.action.tolist() for step in episode.steps] == [[1.0], [2.0]]
    assert math.isnan(episode.total_reward)


def record_some(path: Path) -> None:
    env = RecordTrajectories(gym.make(register_toy()), path)
    for _ in range(20):
        env.reset(options={"padding": "x" * 20_000})
        for _ in range(3):
            env.step(0)
    env.close()


@pytest.mark.slow
def test_processes_and_runs_share_a_file(path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        list(pool.map(record_some, [path] * 3))
    record_some(path)
    episodes = list(read_trajectories(path))
    assert len(episodes) == 80
    assert len(strict_lines(path)) == 80
    runs = {episode.run for episode in episodes}
    assert len(runs) == 4
    for run in runs:
        assert [e.episode for e in episodes if e.run == run] == list(range(20))


KILLED = """
import os, signal, sys
import gymnasium as gym
from wmrl_gym.interchange import RecordTrajectories
env = RecordTrajectories(gym.make("CartPole-v1", max_episode_steps=1), sys.argv[1])
for episode in range(5):
    env.reset(seed=episode)
    if episode < 4:
        env.step(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_whole_lines(path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert died.returncode == -9
    assert [episode.seed for episode in read_trajectories(path)] == [0, 1, 2, 3]


def test_a_torn_line_costs_nothing_but_itself(path: Path) -> None:
    record_some(path)
    os.truncate(path, path.stat().st_size - 100)
    assert len(list(read_trajectories(path))) == 19
    record_some(path)
    assert len(list(read_trajectories(path))) == 39


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"schema": "wmrl-gym/trajectory/2"}', "trajectory/2"),
        ('{"schema": "wmrl-gym/trajectory/1"}', "env_id"),
        ("[1]", "schema=None"),
    ],
)
def test_other_lines_are_refused_by_file_and_line(path: Path, line: str, message: str) -> None:
    record_some(path)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=rf"episodes.jsonl:21: .*{message}"):
        list(read_trajectories(path))


def test_a_path_of_no_use_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path='.*' cannot be appended to"):
        RecordTrajectories(gym.make("CartPole-v1"), tmp_path)
