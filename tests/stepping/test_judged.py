"""Real stepping with predicted scores: a reward model in the place of an expensive judgement."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.stepping.toys import DistanceJudge, PointEnv, astray, play, straight
from wmrl_gym import Source, WorldModelRewardVectorWrapper, WorldModelRewardWrapper
from wmrl_gym.episodes import EpisodeRecord


class Person:
    """Judges by the same rule as the environment; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, episode: EpisodeRecord) -> float:
        self.asked += 1
        return float(episode.success_once)


def test_every_episode_is_real_and_only_anchors_are_judged() -> None:
    person, judge = Person(), DistanceJudge()
    env = WorldModelRewardWrapper(
        PointEnv(ends=True),
        world_model=judge,
        score=person,
        anchor_fraction=0.25,
        gate_threshold=0.0,
        correction_options={"min_pairs": 4},
    )
    for group in range(40):
        policy = straight if group % 2 else astray
        rewards, _, info = play(env, policy, seed=group, options={"group": group})
        anchor = env.correction.is_anchor(group)
        assert info["wmrl/source"] == (Source.REAL if anchor else Source.PREDICTED)
        assert info["wmrl/score_predicted"] == pytest.approx(0.7 if group % 2 else 0.2)
        expected = float(group % 2) if anchor else info["wmrl/score_predicted"]
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
        assert rewards[-1] == pytest.approx(expected)
        assert np.isnan(info["wmrl/score_true"]) is np.bool_(not anchor)
    assert person.asked == 10
    assert judge.batches == [1] * 40
    assert env.unwrapped.stepped == env.anchored.totals.steps_real
    env.update()
    rewards, *_ = play(env, straight, seed=0, options={"group": 41 + env.correction.is_anchor(41)})
    assert sum(rewards) == pytest.approx(1.0, abs=0.05)


def test_the_gate_holds_for_scores_too() -> None:
    class Coin(DistanceJudge):
        def score(self, episodes: Any) -> Any:
            return np.array([abs(float(np.sin(1e4 * e.observations[-1, 0]))) for e in episodes])

    person = Person()
    env = WorldModelRewardWrapper(PointEnv(), world_model=Coin(), score=person)
    for episode in range(60):
        play(env, straight if episode % 2 else astray, seed=episode)
        if episode % 20 == 19:
            assert env.update()["gate/open"] == 0.0
    assert person.asked == 60


def test_what_the_model_cannot_tell_has_no_score() -> None:
    class Puzzled(DistanceJudge):
        def score(self, episodes: Any) -> Any:
            return np.full(len(episodes), np.nan)

    env = WorldModelRewardWrapper(
        PointEnv(), world_model=Puzzled(), anchor_fraction=0.5, gate_threshold=0.0
    )
    valid = [play(env, straight, seed=0)[2]["wmrl/valid"] for _ in range(8)]
    assert valid.count(True) == 4
    assert env.update()["pairs"] == 0


def test_all_lanes_that_end_together_are_judged_in_one_call() -> None:
    judge = DistanceJudge()
    env = WorldModelRewardVectorWrapper(
        SyncVectorEnv([PointEnv] * 4, autoreset_mode=AutoresetMode.SAME_STEP), world_model=judge
    )
    env.reset(seed=0)
    for _ in range(16):
        env.step(np.zeros((4, 2), dtype=np.float32))
    assert judge.batches == [4, 4]


class Pictured(gym.Env[Any, Any]):
    """Shows a picture, in which the number of the step is the brightness, and says what to do."""

    observation_space = spaces.Dict(
        {"agentview": spaces.Box(0, 255, (2, 2, 3), np.uint8), "instruction": spaces.Text(9)}
    )
    action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        return self._observation(), {"instruction": "wait"}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self._observation(), 0.0, False, False, {"success": False}

    def _observation(self) -> Any:
        return {"agentview": np.full((2, 2, 3), self.time, np.uint8), "instruction": "wait"}


def test_frames_and_instructions_reach_the_model() -> None:
    class Watcher:
        def __init__(self) -> None:
            self.seen: list[EpisodeRecord] = []

        def score(self, episodes: Any) -> Any:
            self.seen += episodes
            return np.full(len(episodes), 0.5)

    watcher = Watcher()
    env = WorldModelRewardWrapper(Pictured(), world_model=watcher, horizon=3)
    env.reset(seed=5)
    for _ in range(3):
        env.step(1)
    (episode,) = watcher.seen
    assert episode.frames is not None
    assert episode.frames[:, 0, 0, 0].tolist() == [1, 2, 3]
    assert (episode.instruction, episode.seed, episode.length) == ("wait", 5, 3)
    assert episode.actions.tolist() == [[1.0]] * 3
