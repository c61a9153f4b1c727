from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import wmrl_gym  # noqa: F401  # registers the ids
from wmrl_gym.agents import GRPO
from wmrl_gym.agents.vla import (
    Demonstrations,
    SmallVLAPolicy,
    clone,
    demonstrate,
    for_policy,
    policy_arguments,
)
from wmrl_gym.agents.vla.film import _peaks
from wmrl_gym.agents.vla.inputs import WORDS, word_ids
from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.rollouts import Start, play
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import ActionBins


def make_bare() -> Any:
    return gym.make(
        "WMRL-VLA-v0",
        tasks=["reach"],
        image_size=64,
        wrist_camera=False,
        render_profile="fast",
        horizon=48,
    )


def make() -> gym.Env[Any, Any]:
    return for_policy(make_bare())


def make_model(envs: int = 4, make: Callable[[], Any] = make) -> GRPO:
    vector = SyncVectorEnv([make] * envs, autoreset_mode=AutoresetMode.DISABLED)
    return GRPO(
        "MultiInputPolicy",
        vector,
        group_size=envs,
        groups_per_batch=1,
        policy_kwargs=policy_arguments(),
        seed=0,
        device="cpu",
    )


def expert(env: Any) -> Any:
    return Expert(env.simulation).act


def test_words_are_hashed_alike_everywhere() -> None:
    ids = word_ids("Push the RED cube, please.")
    assert ids.shape == (WORDS,)
    assert (ids > 0).sum() == 5
    np.testing.assert_array_equal(ids, word_ids("push the red cube please"))
    assert len(set(ids[:5].tolist())) == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_environment_passes_the_check() -> None:
    env = make()
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.slow
def test_instruction_and_picture_both_matter() -> None:
    torch.manual_seed(0)
    model = make_model(2)
    env = make()
    observation, _ = env.reset(seed=0)
    with torch.no_grad():
        batch = {key: torch.as_tensor(value)[None] for key, value in observation.items()}
        base = model.policy.extract_features(batch)
        for key in batch:
            other = {**batch, key: torch.flip(batch[key], dims=[-1])}
            if key == "instruction":  # the bag of words does not know their order
                other[key] = torch.as_tensor(word_ids("stack everything"))[None]
            assert not torch.allclose(model.policy.extract_features(other), base)
    env.close()


def loss_on(model: GRPO, demonstrations: Demonstrations) -> float:
    """Negative log-likelihood of a demonstrated token, in nats."""
    observations = {k: torch.as_tensor(v) for k, v in demonstrations.observations.items()}
    tokens = torch.as_tensor(demonstrations.tokens)
    with torch.no_grad():
        _, log_likelihood, _ = model.policy.evaluate_actions(observations, tokens)
    return -log_likelihood.mean().item() / tokens.shape[1]


@pytest.mark.slow
def test_cloning_learns_what_the_expert_does_in_states_that_it_has_not_seen() -> None:
    seen = demonstrate(make(), expert, episodes=100, keep=1.0)
    fresh = demonstrate(make(), expert, episodes=20, seed=1000)
    assert min(seen.success, fresh.success) > 0.9
    assert seen.tokens.shape == (len(seen), 56)
    model = make_model()
    assert 300_000 < sum(p.numel() for p in model.policy.parameters()) < 2_000_000
    before = loss_on(model, fresh)
    losses = clone(model.policy, seen, epochs=8, seed=0)
    assert losses[-1] < 0.7 * losses[0]
    assert loss_on(model, fresh) < 0.75 * before  # 2.4 nats against ln 33 = 3.5


@pytest.mark.slow
def test_chunks_are_what_the_expert_really_did() -> None:
    """From each recorded state the recorded chunk leads on as the expert would."""
    env = make()
    shown = demonstrate(env, expert, episodes=1, keep=1.0, wander=0, seed=3)
    bare: Any = env.unwrapped
    bare.reset(seed=3, options={"task": "reach"})
    act = expert(bare)
    bins = env.env  # below the inputs
    assert isinstance(bins, ActionBins)
    for number, tokens in enumerate(shown.tokens):
        np.testing.assert_allclose(
            shown.observations["state"][number], bare._observation()["state"]
        )
        action = act()
        assert np.abs(bins.action(tokens)[0] - action).max() <= 1.0 / 32.0 + 1e-6
        bare.step(action)
    env.close()


@pytest.mark.slow
def test_what_leads_astray_is_not_taught() -> None:
    """This expert never opens the gripper (tokens below 16); whoever errs does so half the time."""
    shown = demonstrate(make(), expert, episodes=8, keep=1.0, wander=8)
    assert shown.tokens.reshape(-1, 8, 7)[..., 6].min() >= 16


def test_keep_is_checked() -> None:
    with pytest.raises(ValueError, match=r"keep=0\.0"):
        demonstrate(gym.make("Pendulum-v1"), expert, episodes=1, keep=0.0)


def test_points_are_found_where_the_picture_has_them() -> None:
    """A map with one high cell: its place, from -1 to 1 right and down, and its height."""
    maps = torch.zeros(1, 2, 5, 9)
    maps[0, 0, 0, 8] = 100.0
    maps[0, 1, 3, 2] = 100.0
    torch.testing.assert_close(_peaks(maps), torch.tensor([[1.0, -0.5, -1.0, 0.5, 30.0, 30.0]]))


@pytest.mark.slow
def test_policy_plays_episodes() -> None:
    model = make_model(2)
    starts = [Start("reach", number) for number in range(4)]
    bare = [make_bare().unwrapped for _ in range(2)]
    episodes = list(play(bare, lambda envs: SmallVLAPolicy(model), starts))
    assert [episode.seed for episode in episodes] == [0, 1, 2, 3]
    assert all(np.abs(episode.actions).max() <= 1.0 for episode in episodes)


@pytest.mark.slow
def test_grpo_trains_the_same_policy() -> None:
    model = make_model()
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(total_timesteps=1)
    assert model.groups_done == 1
    assert all(torch.isfinite(parameter).all() for parameter in model.policy.parameters())
    if any(episode["r"] for episode in model.ep_info_buffer or []):  # a group without any
        after = list(model.policy.parameters())  # success gives no gradient
        assert any(not torch.equal(a, b) for a, b in zip(after, before, strict=True))


def test_other_observations_are_refused() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="image, state and instruction"):
        for_policy(gym.make("Pendulum-v1"))
    with pytest.raises(UnsupportedEnvironmentError, match="no action bins"):
        demonstrate(gym.make("Pendulum-v1"), expert, episodes=1)
