"""Episodes of vector environments, in every autoreset mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.interchange.episodes import WINE
from tests.wrappers.harness import ENDS, LENGTHS, MODES, make, toy
from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.interchange import RecordTrajectoriesVector, Trajectory, read_trajectories


def play(env: Any, *, steps: int = 23) -> list[Any]:
    """Play and return the actions, as `[steps]` of `[num_envs]`."""
    rng = np.random.default_rng(0)
    env.reset(seed=11)
    played = []
    for _ in range(steps):
        actions = rng.integers(5, size=env.num_envs)
        _, _, terminations, truncations, _ = env.step(actions)
        played.append(actions)
        done = np.logical_or(terminations, truncations)
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            env.reset(seed=[None] * env.num_envs, options={"reset_mask": done, "group": [5, 6, 7]})
    env.close()
    return played


def of_slot(episodes: list[Trajectory], slot: int) -> list[Trajectory]:
    return [episode for episode in episodes if episode.slot == slot]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "wrapped"])
def test_every_episode_is_whole(tmp_path: Path, kind: str, mode: Any, wrapped: bool) -> None:
    path = tmp_path / "episodes.jsonl"
    env = make(kind, toy, mode)
    if wrapped:
        env = WorldModelRewardVectorWrapper(
            env, world_model="tests.wrappers.toys:SquareWorldModel", anchor_fraction=0.5
        )
    play(RecordTrajectoriesVector(env, path))
    episodes = list(read_trajectories(path))
    for slot, (length, end) in enumerate(zip(LENGTHS, ENDS, strict=True)):
        mine = of_slot(episodes, slot)
        dummies = mode is AutoresetMode.NEXT_STEP
        assert len([e for e in mine if e.finished]) == (23 + dummies) // (length + dummies)
        for number, episode in enumerate(mine):
            # The toy's observation is (episode, time), and its info says the time.
            assert episode.observation.tolist() == [number, 0]
            assert episode.info["time"] == 0
            seen = [step.observation.tolist() for step in episode.steps]
            assert seen == [[number, t + 1] for t in range(len(seen))]
            assert [step.info["time"] for step in episode.steps] == [t for _, t in seen]
            assert episode.seed == (11 + slot if number == 0 else None)
            assert "final_info" not in str(episode)
            if episode.finished:
                assert len(seen) == length
                assert episode.steps[-1].terminated == (end != "truncate")
                assert episode.steps[-1].truncated == (end != "terminate")
            if wrapped:
                groups = {step.info["wmrl/group"] for step in episode.steps}
                assert groups <= {episode.info["wmrl/group"]}
            later = mode is AutoresetMode.DISABLED and number > 0
            assert episode.options == ({"group": 5 + slot} if later else {})


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_actions_and_rewards_are_those_of_the_episode(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "episodes.jsonl"
    played = play(RecordTrajectoriesVector(make("sync", toy, mode), path))
    dummies = mode is AutoresetMode.NEXT_STEP
    for slot, length in enumerate(LENGTHS):
        column = [int(actions[slot]) for actions in played]
        period = length + dummies
        for number, episode in enumerate(of_slot(list(read_trajectories(path)), slot)):
            begin = number * period
            expected = column[begin : begin + length][: len(episode.steps)]
            assert [int(step.action) for step in episode.steps] == expected
            # Action 4 executes nothing and earns nothing; all others earn something.
            assert [step.reward > 0 for step in episode.steps] == [a != 4 for a in expected]


def test_a_reset_in_the_middle_marks_what_it_leaves(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    env = RecordTrajectoriesVector(make("sync", toy, AutoresetMode.NEXT_STEP), path)
    env.reset(seed=1)
    env.step(np.zeros(3, dtype=np.int64))
    options = {"task": "x"}
    env.reset(options=options)
    assert options == {"task": "x"}
    assert [e.finished for e in read_trajectories(path)] == [False] * 3
    env.close()


@pytest.mark.slow
def test_real_pipelines(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    vector = gym.make_vec("WMRL-MLE-Pipeline-v0", num_envs=2, tasks=[WINE])
    env = RecordTrajectoriesVector(WorldModelRewardVectorWrapper(vector, anchor_fraction=1.0), path)
    observations, _ = env.reset(seed=0, options={"task": WINE})
    env.action_space.seed(0)
    actions = env.action_space.sample()
    _, rewards, *_ = env.step(actions)
    env.close()
    episodes = list(read_trajectories(path))
    assert [episode.slot for episode in episodes] == [0, 1]
    for slot, episode in enumerate(episodes):
        [step] = episode.steps
        np.testing.assert_array_equal(episode.observation, observations[slot])
        np.testing.assert_array_equal(step.action, actions[slot])
        assert step.action.dtype == actions.dtype
        assert step.reward == pytest.approx(rewards[slot])
        assert step.info["wmrl/score_true"] == pytest.approx(rewards[slot])
        assert episode.env_id == "WMRL-MLE-Pipeline-v0"
        assert episode.options == {"task": WINE}
