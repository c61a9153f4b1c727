from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.save_util import save_to_zip_file

from wmrl_gym.envs.vla.action_maps import ActionTokens, from_openvla
from wmrl_gym.envs.vla.observation_maps import to_openvla
from wmrl_gym.envs.vla.pixel_env import VLAEnv
from wmrl_gym.envs.vla.policies import (
    ExpertPolicy,
    MappedPolicy,
    RandomPolicy,
    StableBaselinesPolicy,
)
from wmrl_gym.envs.vla.rollouts import Start, play, success_rate
from wmrl_gym.envs.vla.state_env import VLAStateEnv
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import UnsupportedEnvironmentError

STARTS = [Start("reach", number) for number in range(5)]


def expert(envs: Sequence[Any], skill: float = 1.0) -> ExpertPolicy:
    return ExpertPolicy(envs, skill=skill, rng=np.random.default_rng(0))


def same(one: EpisodeRecord, other: EpisodeRecord) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("observations", "actions", "rewards", "successes")
    )


def test_episodes_are_those_of_the_environment() -> None:
    envs = [VLAStateEnv() for _ in range(2)]
    episodes = list(play(envs, expert, STARTS, label="expert"))
    assert [episode.seed for episode in episodes] == [0, 1, 2, 3, 4]
    env = VLAStateEnv()
    for episode, start in zip(episodes, STARTS, strict=True):
        observation, info = env.reset(
            options={"task": "reach", "init_state_id": start.init_state_id}
        )
        np.testing.assert_array_equal(episode.observations[0], observation)
        assert episode.instruction == info["instruction"]
        assert (episode.task, episode.policy, episode.frames) == ("reach", "expert", None)
        for step, action in enumerate(episode.actions):
            observation, reward, terminated, truncated, info = env.step(action)
            np.testing.assert_array_equal(episode.observations[step + 1], observation)
            assert episode.rewards[step] == reward
            assert episode.terminations[step] == terminated
            assert episode.truncations[step] == truncated
            assert episode.successes[step] == info["is_success"]
        assert terminated
        assert episode.success_once


def test_how_many_play_side_by_side_changes_nothing() -> None:
    alone = list(play([VLAStateEnv()], expert, STARTS))
    together = list(play([VLAStateEnv() for _ in range(3)], expert, STARTS))
    assert all(same(one, other) for one, other in zip(alone, together, strict=True))


def test_films_show_every_step_of_the_chosen_episodes() -> None:
    for kind in (VLAEnv, VLAStateEnv):
        env = kind(image_size=32, render_profile="fast")
        episodes = list(
            play([env], expert, STARTS[:2], filmed=lambda start: start.init_state_id == 1)
        )
        assert episodes[0].frames is None
        frames = episodes[1].frames
        assert frames is not None
        assert frames.shape == (episodes[1].length + 1, 32, 32, 3)
        assert not np.array_equal(frames[0], frames[-1])


class Chunks:
    """Records what it is shown; acts in chunks of four."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []

    def act(self, observations: dict[str, Any]) -> np.ndarray:
        self.shown.append(observations)
        return np.full((len(observations["state"]), 4, 7), 0.25, dtype=np.float32)


def test_a_policy_of_chunks_sees_what_is_there_after_each() -> None:
    policy = Chunks()
    env = VLAEnv(image_size=32, render_profile="fast", horizon=10)
    (episode,) = play([env], lambda envs: policy, [Start("stack", 0)])
    assert (episode.length, len(policy.shown)) == (10, 3)
    assert episode.observations.shape == (11, 8)
    for index, shown in enumerate(policy.shown):
        assert shown["image"].shape == (1, 32, 32, 3)
        np.testing.assert_array_equal(shown["state"][0], episode.observations[4 * index])
    drawn = [shown["image"] for shown in policy.shown]
    assert not np.array_equal(drawn[0], drawn[1])
    plain = VLAEnv(image_size=32, render_profile="fast")
    plain.reset(options={"task": "stack", "init_state_id": 0})
    for action in episode.actions[:8]:
        observation, *_ = plain.step(action)
    np.testing.assert_array_equal(drawn[2][0], observation["image"])


def test_success_rates_by_hand() -> None:
    def record(*successes: bool) -> EpisodeRecord:
        steps = len(successes)
        nothing = np.zeros(steps)
        return EpisodeRecord(
            np.zeros((steps + 1, 1)), np.zeros((steps, 1)), nothing, nothing, nothing, successes
        )

    rate = success_rate(
        "x", [record(False, True, False), record(True), record(False), record(False)]
    )
    assert (rate.episodes, rate.success_once, rate.success_at_end) == (4, 0.5, 0.25)
    assert rate.steps == 1.5
    # Wilson, by hand for 2 of 4: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n).
    assert rate.low == pytest.approx(0.15003898915214947)
    assert rate.high == pytest.approx(0.8499610108478506)
    assert np.isnan(success_rate("x", [record(False)]).steps)


def test_random_and_unskilled_do_worse_than_the_expert() -> None:
    envs = [VLAStateEnv(horizon=25) for _ in range(5)]
    rng = np.random.default_rng(0)
    policies = {
        "expert": expert,
        "unskilled": lambda envs: expert(envs, 0.0),
        "random": lambda envs: RandomPolicy(len(envs), rng),
    }
    rates = {
        name: success_rate(name, list(play(envs, make, STARTS))).success_once
        for name, make in policies.items()
    }
    assert rates["expert"] == 1.0
    assert rates["unskilled"] < 1.0
    assert rates["random"] < 1.0


def test_a_model_of_other_conventions() -> None:
    codec = ActionTokens()
    wanted = np.zeros((2, 8, 7))
    wanted[..., 0], wanted[..., -1] = 0.5, 1.0  # forwards, and OpenVLA's open gripper

    def network(inputs: dict[str, Any]) -> np.ndarray:
        assert inputs["image"].shape == (2, 224, 224, 3)
        assert inputs["prompt"][0].startswith("In: What action")
        return codec.encode(wanted)

    policy = MappedPolicy(
        to_model=to_openvla,
        model=network,
        from_model=lambda tokens: from_openvla(codec.decode(tokens, chunk=8)),
    )
    envs = [VLAEnv(image_size=32, render_profile="fast", horizon=8) for _ in range(2)]
    for episode in play(envs, lambda envs: policy, [Start("push", 0), Start("push", 1)]):
        assert episode.length == 8
        np.testing.assert_allclose(episode.actions[:, 0], 0.5, atol=1 / 255)
        assert (episode.actions[:, -1] == -1).all()
        assert episode.observations[-1, 0] > episode.observations[0, 0] + 0.01
    broken = MappedPolicy(
        to_model=to_openvla, model=lambda inputs: np.zeros((2, 7)), from_model=from_openvla
    )
    with pytest.raises(ValueError, match=r"from_model returned shape \(2, 7\)"):
        list(play(envs, lambda envs: broken, [Start("push", 0), Start("push", 1)]))


@pytest.mark.parametrize("algorithm", [PPO, SAC])
def test_what_stable_baselines_saved_acts_the_same(algorithm: Any, tmp_path: Path) -> None:
    with closing(gym.make("wmrl_gym:WMRL-VLA-State-v0", task="reach")) as env:
        trained = algorithm("MlpPolicy", env, device="cpu", policy_kwargs={"net_arch": [8]}, seed=1)
        trained.save(tmp_path / "agent.zip")
        policy = StableBaselinesPolicy(
            tmp_path / "agent.zip", observation_space=env.observation_space
        )
        observations = np.stack([env.reset(seed=seed)[0] for seed in range(3)])
    expected, _ = trained.predict(observations, deterministic=True)
    actions = policy.act(observations)
    assert actions.shape == (3, 1, 7)
    np.testing.assert_array_equal(actions[:, 0], expected)


def test_a_saved_policy_of_something_else(tmp_path: Path) -> None:
    space = VLAStateEnv().observation_space
    PPO("MlpPolicy", "Pendulum-v1", device="cpu").save(tmp_path / "other.zip")
    with pytest.raises(UnsupportedEnvironmentError, match=r"other.zip was trained on Box.*\(3,\)"):
        StableBaselinesPolicy(tmp_path / "other.zip", observation_space=space)
    with pytest.raises(ValueError, match=r"none.zip is no file"):
        StableBaselinesPolicy(tmp_path / "none.zip", observation_space=space)
    save_to_zip_file(tmp_path / "odd.zip", data={"a": 1})
    with pytest.raises(ValueError, match=r"odd.zip was not saved by an algorithm"):
        StableBaselinesPolicy(tmp_path / "odd.zip", observation_space=space)
