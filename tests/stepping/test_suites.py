"""One contract on environments of gymnasium, gymnasium-robotics, Meta-World and our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import gymnasium_robotics
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import wmrl_gym
from tests.wrappers.harness import KEYS
from wmrl_gym import Source, WorldModelRewardVectorWrapper, WorldModelRewardWrapper
from wmrl_gym.envs.suites import MetaWorldEnv
from wmrl_gym.stepping.spaces import FlatObservations
from wmrl_gym.world_models.dynamics import EnsembleDynamics

HORIZON = 6


@dataclass(frozen=True)
class Suite:
    """An environment and what the wrapper has to be told of it."""

    make: Any
    options: dict[str, Any] = field(default_factory=dict)


def registered(name: str, **arguments: Any) -> gym.Env[Any, Any]:
    gym.register_envs(gymnasium_robotics)
    gym.register_envs(wmrl_gym)
    # Their observations leave their declared bounds or dtypes, of which the checker would warn.
    return gym.make(name, disable_env_checker=True, **arguments)


RETURN = {"score": "return", "score_bounds": (-200.0, 200.0)}
SUITES = {
    "Reacher-v5": Suite(partial(registered, "Reacher-v5", max_episode_steps=HORIZON), RETURN),
    "HalfCheetah-v5": Suite(partial(registered, "HalfCheetah-v5"), RETURN),
    "InvertedPendulum-v5": Suite(partial(registered, "InvertedPendulum-v5"), RETURN),
    "FetchReach-v4": Suite(partial(registered, "FetchReach-v4")),
    "FetchPush-v4": Suite(partial(registered, "FetchPush-v4")),
    "PointMaze": Suite(partial(registered, "PointMaze_UMaze-v3")),
    "AdroitHandDoor": Suite(partial(registered, "AdroitHandDoor-v1")),
    "FrankaKitchen": Suite(
        partial(registered, "FrankaKitchen-v1", tasks_to_complete=["microwave"])
    ),
    "Meta-World": Suite(partial(MetaWorldEnv, "reach-v3")),
    "WMRL-VLA-State-v0": Suite(partial(registered, "WMRL-VLA-State-v0", task="reach")),
}


def model_for(env: gym.Env[Any, Any]) -> EnsembleDynamics:
    size = FlatObservations(env.observation_space).size
    actions = env.action_space.shape
    assert actions is not None
    return EnsembleDynamics(
        size, actions[0], members=2, hidden=8, updates=4, online_updates=1, min_episodes=2
    )


def actions_of(env: gym.Env[Any, Any], seed: int) -> list[Any]:
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(HORIZON)]


def assert_same_observation(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same_observation(a[key], b[key])
        return
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_the_contract(name: str) -> None:
    suite = SUITES[name]
    plain, inner = suite.make(), suite.make()
    env = WorldModelRewardWrapper(
        inner,
        world_model=model_for(inner),
        anchor_fraction=0.5,
        horizon=HORIZON,
        gate_threshold=0.0,
        terminate_on_success=False,
        **suite.options,
    )
    real = [g for g in range(99) if env.correction.is_anchor(g)]
    imagined = next(g for g in range(99) if not env.correction.is_anchor(g))
    for seed in range(3):
        _real_episode(env, plain, seed, real[seed], dense=bool(suite.options))
    diagnostics = env.update()
    assert diagnostics["steps_real"] >= HORIZON
    _imagined_episode(env, plain, imagined)
    env.close()
    plain.close()


def _real_episode(env: Any, plain: Any, seed: int, group: int, *, dense: bool) -> None:
    """Anchors are what the environment would be without the wrapper, bit for bit."""
    expected, _ = plain.reset(seed=seed)
    observation, _ = env.reset(seed=seed, options={"group": group})
    assert_same_observation(observation, expected)
    given, paid = [], []
    for action in actions_of(env, seed):
        expected, reward, *ends, _ = plain.step(action)
        observation, score, terminated, truncated, info = env.step(action)
        assert_same_observation(observation, expected)
        given.append(score)
        paid.append(float(reward))
        assert terminated is bool(ends[0])
        if terminated or truncated:
            break
    assert truncated or terminated
    assert (info["wmrl/source"], info["wmrl/valid"]) == (Source.REAL, True)
    assert {k: type(v) for k, v in info.items() if k.startswith("wmrl/")} == KEYS
    if dense:
        assert given == paid
        assert info["wmrl/score_true"] == pytest.approx(sum(paid))
    else:
        assert given[:-1] == [0.0] * (len(given) - 1)
        assert given[-1] == info["wmrl/score_true"]


def _imagined_episode(env: Any, plain: Any, group: int) -> None:
    """An imagined episode starts where a real one would and looks like one."""
    expected, _ = plain.reset(seed=7)
    observation, _ = env.reset(seed=7, options={"group": group})
    assert_same_observation(observation, expected)
    state = env.anchored.totals.steps_real
    rewards, done = [], False
    while not done:
        likeness, (action, *_) = observation, actions_of(env, len(rewards))
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        done = terminated or truncated
        _assert_alike(observation, likeness)
    assert env.anchored.totals.steps_real == state
    assert len(rewards) <= HORIZON
    assert (info["wmrl/source"], info["wmrl/valid"]) == (Source.PREDICTED, True)
    assert sum(rewards) == pytest.approx(info["wmrl/score_calibrated"])


def _assert_alike(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            _assert_alike(a[key], b[key])
    else:
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.isfinite(a).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FetchReach-v4", "Meta-World", "WMRL-VLA-State-v0"])
def test_the_vector_twin(name: str) -> None:
    suite = SUITES[name]
    base = SyncVectorEnv([suite.make] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    env = WorldModelRewardVectorWrapper(
        base,
        world_model=model_for(base.envs[0]),
        horizon=HORIZON,
        anchor_fraction=0.5,
        gate_threshold=0.0,
    )
    env.reset(seed=1)
    env.action_space.seed(0)
    for step in range(8 * HORIZON):
        _, rewards, *_, infos = env.step(env.action_space.sample())
        assert rewards.dtype == np.float64
        assert infos["wmrl/group"].shape == (3,)
        if step % (2 * HORIZON) == 0:
            env.update()
    totals = env.anchored.totals
    assert totals.steps_imagined > 0
    assert totals.steps_real > 0
    env.close()


def test_hindsight_replay_finds_what_it_needs() -> None:
    env = WorldModelRewardWrapper(
        registered("FetchReach-v4"), world_model=model_for(registered("FetchReach-v4"))
    )
    compute_reward = env.get_wrapper_attr("compute_reward")
    goals = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(compute_reward(goals, np.zeros((2, 3)), [{}, {}]), [-0.0, -1.0])
    assert not hasattr(type(env), "compute_reward")
    env.close()


@pytest.mark.slow
def test_the_names_survive_a_specification() -> None:
    env = WorldModelRewardWrapper(
        gym.make("WMRL-VLA-State-v0", task="reach"), world_model="dynamics", anchor_fraction=0.25
    )
    spec = env.spec
    assert spec is not None
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json()))
    observation, info = again.reset(seed=0)
    assert (observation.shape, info["wmrl/group"]) == ((84,), 0)
    # The family's own limit, which `info` tells, holds for the wrapper too.
    assert again.anchored._episodes[0].horizon == info["horizon"] == 50
