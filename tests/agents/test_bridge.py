from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from tests.agents.toys import ACTIONS, OBSERVATIONS, CorrectedVectorWrapper, WalkEnv, sync
from wmrl_gym.agents import VectorEnvBridge
from wmrl_gym.errors import UnsupportedEnvironmentError

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
STEPS = 30
LONG = 1  # a seed with which a WalkEnv lasts 3 steps if its actions are 0


def assert_same(a: Any, b: Any) -> None:
    """Equal in structure and value."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind


def trajectory(env: VecEnv, action_space: gym.Space[Any]) -> list[Any]:
    """Observations, rewards, ends, infos and reset infos under fixed random actions."""
    action_space.seed(3)
    env.seed(11)
    env.set_options({"group": 4})
    seen: list[Any] = [env.reset(), list(env.reset_infos)]
    for _ in range(STEPS):
        actions = np.stack([action_space.sample() for _ in range(env.num_envs)])
        seen.append(env.step(actions))
        seen.append([dict(info) for info in env.reset_infos])
    return seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", list(ACTIONS))
@pytest.mark.parametrize("observation", list(OBSERVATIONS))
def test_it_gives_what_dummy_vec_env_gives(
    observation: str, action: str, mode: AutoresetMode
) -> None:
    make = partial(WalkEnv, observation, action)
    dummy = trajectory(DummyVecEnv([make] * 3), ACTIONS[action])
    bridge = trajectory(VectorEnvBridge(sync(make, mode=mode)), ACTIONS[action])
    assert_same(dummy, bridge)
    assert bridge[2][1].dtype == np.float32
    # The comparison means something only if episodes have ended in both ways.
    ends = [info for step in bridge[2::2] for info in step[3] if "terminal_observation" in info]
    assert {info["TimeLimit.truncated"] for info in ends} == {True, False}


def test_buffers_that_the_vector_environment_reuses_are_copied() -> None:
    env = SyncVectorEnv([WalkEnv] * 2, copy=False, autoreset_mode=AutoresetMode.SAME_STEP)
    bridge = VectorEnvBridge(env)
    bridge.seed(0)
    first = bridge.reset()
    kept = first.copy()
    bridge.step(np.zeros((2, 2), dtype=np.int64))
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("mode", MODES)
def test_other_processes(mode: AutoresetMode) -> None:
    vector = AsyncVectorEnv([WalkEnv] * 2, autoreset_mode=mode, context="spawn")
    bridge = VectorEnvBridge(vector)
    dummy = DummyVecEnv([WalkEnv] * 2)
    try:
        assert_same(
            trajectory(dummy, ACTIONS["multidiscrete"]),
            trajectory(bridge, ACTIONS["multidiscrete"]),
        )
        assert not bridge.has_attr("correction")
        assert bridge.has_attr("gain")
        bridge.set_attr("gain", 7.0, indices=[1])
        assert bridge.get_attr("gain") == [1.0, 7.0]
        assert bridge.env_method("boost", 2.0) == [2.0, 2.0]
        with pytest.raises(UnsupportedEnvironmentError, match="SyncVectorEnv"):
            bridge.env_method("boost", 2.0, indices=[0])
    finally:
        bridge.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, None])
def test_other_autoreset_modes_are_refused(mode: AutoresetMode | None) -> None:
    env = sync(WalkEnv)
    env.metadata["autoreset_mode"] = mode
    with pytest.raises(UnsupportedEnvironmentError, match=r"=AutoresetMode\.SAME_STEP"):
        VectorEnvBridge(env)


def test_seeds_and_options_are_used_once() -> None:
    env = sync(WalkEnv, 2)
    bridge = VectorEnvBridge(env)
    bridge.seed(5)
    bridge.set_options({"group": 9})
    bridge.reset()
    bridge.reset()
    assert [e.unwrapped.starts for e in env.envs] == [
        [(5, 9), (None, None)],
        [(6, 9), (None, None)],
    ]


def test_options_that_differ_are_refused() -> None:
    bridge = VectorEnvBridge(sync(WalkEnv, 2))
    bridge.set_options([{"group": 1}, {"group": 2}])
    with pytest.raises(ValueError, match="must be the same for all"):
        bridge.reset()


@pytest.mark.parametrize("observation", list(OBSERVATIONS))
def test_reset_of_some_starts_the_same_episode_in_each(observation: str) -> None:
    env = sync(partial(WalkEnv, observation), 4)
    bridge = VectorEnvBridge(env)
    options = {"group": 3}
    starts = bridge.env_method("reset", seed=np.uint32(8), options=options, indices=[2, 0])
    assert options == {"group": 3}
    assert_same(starts[0], starts[1])
    assert starts[0][1]["fresh"] is True
    assert env.envs[0].unwrapped.starts[-1] == (8, 3)
    assert env.envs[2].unwrapped.starts[-1] == (8, 3)
    # The others were reset once, before, because there was nothing to batch their rows from.
    assert env.envs[1].unwrapped.starts == [(None, None)]


def test_reset_of_some_leaves_the_others_where_they_are() -> None:
    env = sync(WalkEnv, 2)
    bridge = VectorEnvBridge(env)
    bridge.seed(LONG)
    bridge.reset()
    bridge.step(np.zeros((2, 2), dtype=np.int64))
    bridge.env_method("reset", seed=1, options={}, indices=[1])
    observations, *_ = bridge.step(np.zeros((2, 2), dtype=np.int64))
    assert observations[:, 1].tolist() == [2.0, 1.0]


def test_reset_of_some_needs_resets_by_the_caller() -> None:
    bridge = VectorEnvBridge(sync(WalkEnv, mode=AutoresetMode.SAME_STEP))
    with pytest.raises(UnsupportedEnvironmentError, match=r"=AutoresetMode\.DISABLED"):
        bridge.env_method("reset", seed=1, options={}, indices=[0])


def test_all_sub_environments_are_stepped_by_one_call() -> None:
    env = CorrectedVectorWrapper(sync(WalkEnv, 5))
    bridge = VectorEnvBridge(env)
    bridge.reset()
    for _ in range(4):
        bridge.step(np.zeros((5, 2), dtype=np.int64))
    assert env.steps == 4


def test_a_vector_environment_of_its_own_kind() -> None:
    env = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(UnsupportedEnvironmentError, match="NEXT_STEP"):
        VectorEnvBridge(env)


def test_rendering_and_closing() -> None:
    bridge = VectorEnvBridge(sync(partial(WalkEnv, render_mode="rgb_array"), 4))
    bridge.reset()
    assert bridge.render_mode == "rgb_array"
    assert [frame.shape for frame in bridge.get_images()] == [(4, 4, 3)] * 4
    frame = bridge.render()
    assert frame is not None
    assert frame.shape == (8, 8, 3)
    bridge.close()
    bridge.close()


def test_wrappers_are_not_looked_for() -> None:
    bridge = VectorEnvBridge(sync(WalkEnv, 3))
    assert bridge.env_is_wrapped(gym.Wrapper, indices=[0, 2]) == [False, False]
