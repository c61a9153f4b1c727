from __future__ import annotations

import pickle
from contextlib import closing
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import wmrl_gym  # noqa: F401  # registers the ids
from tests.envs.vla.gl_process import python
from tests.envs.vla.test_rendering import shows_something
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.pixel_env import VLAEnv
from wmrl_gym.envs.vla.state_env import VLAStateEnv

SMALL: dict[str, Any] = {"image_size": 48, "render_profile": "fast"}
ID = "wmrl_gym:WMRL-VLA-v0"


def actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7)).astype(np.float32)


def test_what_is_observed() -> None:
    env = VLAEnv(task="push", render_profile="fast")
    observation, info = env.reset(seed=3)
    assert set(env.observation_space) == {"image", "wrist_image", "state", "instruction"}
    assert env.observation_space.contains(observation)
    for key in ("image", "wrist_image"):
        assert observation[key].shape == (256, 256, 3)
        assert shows_something(observation[key])
    np.testing.assert_array_equal(observation["state"], env.simulation.proprioception())
    assert observation["instruction"] == info["instruction"] == env.instruction
    assert info["render_profile"] == env.metadata["render_profile"] == "fast"


@pytest.mark.parametrize("split", ["train", "held_out"])
@pytest.mark.parametrize("task", FAMILIES)
def test_every_family_can_be_seen_and_put_into_words(task: str, split: str) -> None:
    env = VLAEnv(task=task, split=split, **SMALL)
    for number in range(3):
        observation, _ = env.reset(options={"init_state_id": number})
        assert env.observation_space.contains(observation)
        assert shows_something(observation["image"])
        assert shows_something(observation["wrist_image"])
    longest = max(
        len(FAMILIES[task].instruction(np.random.default_rng(i), c))
        for c in FAMILIES[task].compositions(split)
        for i in range(10)
    )
    assert longest <= env.observation_space["instruction"].max_length


def test_check_env() -> None:
    env = gym.make(ID, render_mode="rgb_array", **SMALL)
    check_env(env.unwrapped)


def test_it_goes_through_the_states_of_its_twin() -> None:
    pixels, states = VLAEnv(reward="progress", **SMALL), VLAStateEnv(reward="progress")
    options = {"task": "stack", "init_state_id": 4}
    pixels.reset(seed=1, options=options)
    states.reset(seed=1, options=options)
    for action in actions(12):
        _, *seen = pixels.step(action)
        expected, *told = states.step(action)
        np.testing.assert_array_equal(pixels.simulation.state_vector(), expected)
        assert seen[:3] == told[:3]
        assert {k: v for k, v in seen[3].items() if k != "render_profile"} == told[3]


def test_a_restored_state_looks_and_goes_on_the_same() -> None:
    env = VLAEnv(task="drawer", **SMALL)
    env.reset(seed=0)
    for action in actions(6):
        env.step(action)
    saved, expected = env.save_state(), env.current_observation()
    after = [env.step(action)[0] for action in actions(6, seed=1)]
    other = VLAEnv(task="drawer", **SMALL)
    for one in (env, other):
        one.restore_state(saved)
        assert data_equivalence(one.current_observation(), expected, exact=True)
        for action, observation in zip(actions(6, seed=1), after, strict=True):
            assert data_equivalence(one.step(action)[0], observation, exact=True)


@pytest.mark.parametrize("copy", [deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_from_the_same_state(copy: Any) -> None:
    # Copied views of the simulator's memory used to show the state at the time of the copy.
    env = VLAEnv(tasks=["reach", "button"], **SMALL)
    env.reset(seed=1)
    env.step(actions(1)[0])
    twin = copy(env)
    assert data_equivalence(twin.current_observation(), env.current_observation(), exact=True)
    for action in actions(5, seed=2):
        assert data_equivalence(twin.step(action), env.step(action), exact=True)
    assert data_equivalence(twin.reset(), env.reset(), exact=True)


def test_an_environment_can_be_sent_before_its_first_reset() -> None:
    env = pickle.loads(pickle.dumps(VLAEnv(task="reach", **SMALL)))
    expected = VLAEnv(task="reach", **SMALL).reset(seed=5)
    assert data_equivalence(env.reset(seed=5), expected, exact=True)


def test_its_spec_survives_json() -> None:
    arguments = {"tasks": ["reach"], "image_rotation": 180, "wrist_camera": False, **SMALL}
    env = gym.make(ID, **arguments)
    rebuilt = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert rebuilt.spec.kwargs["render_profile"] == "fast"
    assert data_equivalence(rebuilt.reset(seed=2), env.reset(seed=2), exact=True)


def test_rotation_and_cameras() -> None:
    upright, turned = (
        VLAEnv(task="sort", **SMALL),
        VLAEnv(task="sort", image_rotation=180, wrist_camera=False, **SMALL),
    )
    expected, observation = upright.reset(seed=2)[0], turned.reset(seed=2)[0]
    assert "wrist_image" not in observation
    np.testing.assert_array_equal(observation["image"], expected["image"][::-1, ::-1])


def test_pictures_are_drawn_when_they_are_due() -> None:
    env = VLAEnv(task="reach", **SMALL)
    first, _ = env.reset(seed=0)
    env.frames_due = False
    for action in actions(4):
        stale, *_ = env.step(action)
    np.testing.assert_array_equal(stale["image"], first["image"])
    assert not np.array_equal(stale["state"], first["state"])
    assert stale["image"] is not first["image"]
    other, _ = env.reset(seed=1)
    assert not np.array_equal(other["image"], first["image"])
    env.frames_due = True
    fresh = env.current_observation()
    assert not np.array_equal(fresh["image"], first["image"])


def test_render() -> None:
    env = VLAEnv(task="reach", render_mode="rgb_array", **SMALL)
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(env.render(), observation["image"])
    env.close()
    env.close()
    assert VLAEnv(task="reach", **SMALL).render() is None
    twin = VLAStateEnv(task="reach", render_mode="rgb_array", **SMALL)
    twin.reset(seed=0)
    np.testing.assert_array_equal(twin.render(), observation["image"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image_rotation": 90}, "image_rotation=90 must be 0 or 180"),
        ({"image_size": 0}, "image_size=0 must lie in"),
        ({"render_profile": "nice"}, "render_profile='nice' must be one of"),
        ({"render_mode": "human"}, "render_mode='human' must be one of rgb_array"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VLAEnv(**arguments)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_draw_what_one_process_draws(context: str) -> None:
    # Text in shared memory is frozen by Gymnasium 1.4; shared pictures are worth having.
    factories = [partial(gym.make, ID, tasks=["reach", "push"], horizon=3, **SMALL)] * 2
    same_step = AutoresetMode.SAME_STEP
    with (
        closing(AsyncVectorEnv(factories, context=context, autoreset_mode=same_step)) as workers,
        closing(SyncVectorEnv(factories, autoreset_mode=same_step)) as here,
    ):
        instructions = set()
        assert_alike(workers.reset(seed=4)[0], here.reset(seed=4)[0])
        for action in actions(14).reshape(7, 2, 7):
            seen, expected = workers.step(action), here.step(action)
            assert_alike(seen[0], expected[0])
            np.testing.assert_array_equal(seen[1:4], expected[1:4])
            instructions.update(seen[0]["instruction"])
        assert len(instructions) > 2


def assert_alike(seen: dict[str, Any], expected: dict[str, Any]) -> None:
    assert seen["instruction"] == expected["instruction"]
    assert isinstance(seen["instruction"], tuple)
    for key in ("image", "wrist_image", "state"):
        np.testing.assert_array_equal(seen[key], expected[key])


def test_forked_workers_of_a_process_that_drew_say_what_to_do() -> None:
    done = python(
        """
import warnings
import gymnasium as gym
from functools import partial
from gymnasium.vector import AsyncVectorEnv
from wmrl_gym.errors import RenderingUnavailableError
warnings.simplefilter("ignore")  # Gymnasium warns beside raising
make = partial(gym.make, "wmrl_gym:WMRL-VLA-v0", task="reach", image_size=16)
make().reset(seed=0)
workers = AsyncVectorEnv([make], context="fork")
try:
    workers.reset(seed=0)
except RenderingUnavailableError as error:
    print(error)
finally:
    workers.close(terminate=True)
"""
    )
    assert "forked from one that had opened OpenGL" in done.stdout, done.stderr
