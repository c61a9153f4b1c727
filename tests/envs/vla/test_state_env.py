"""`WMRL-VLA-State-v0`: the environment's contract."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import wmrl_gym  # noqa: F401  # registers the ids
from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.state_env import VLAStateEnv
from wmrl_gym.errors import TaskError

ENV_ID = "WMRL-VLA-State-v0"
STILL = np.zeros(7, np.float32)
KEYS = ("is_success", "success_once", "success_at_end", "instruction", "task", "init_state_id")


def make(**arguments: Any) -> VLAStateEnv:
    return VLAStateEnv(**{"task": "button", **arguments})


def solve(env: VLAStateEnv) -> list[tuple[Any, float, bool, bool, dict[str, Any]]]:
    """Let the expert play the episode to its end."""
    expert, steps = Expert(env.simulation), []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(expert.act()))
    return steps


@pytest.mark.parametrize("task", [*FAMILIES, None])
def test_gymnasiums_checker_has_nothing_to_say(task: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(ENV_ID, task=task).unwrapped, skip_render_check=True)


def test_the_spec_survives_json_and_pickling() -> None:
    env = gym.make(ENV_ID, tasks=["reach", "knob"], split="held_out", reward="progress", horizon=7)
    assert env.spec is not None
    for spec in (EnvSpec.from_json(env.spec.to_json()), pickle.loads(pickle.dumps(env.spec))):
        again = gym.make(spec)
        assert again.observation_space == env.observation_space
        first, second = env.reset(seed=5), again.reset(seed=5)
        assert np.array_equal(first[0], second[0])
        assert first[1] == second[1]


def test_spaces_need_no_simulator() -> None:
    env = make(tasks=None)
    assert env.observation_space.shape == (84,)
    assert env.action_space.shape == (7,)
    assert not env._simulations


def test_one_space_serves_all_tasks() -> None:
    env = VLAStateEnv()
    assert env.tasks == tuple(FAMILIES)
    for task in FAMILIES:
        observation, info = env.reset(options={"task": task})
        assert observation in env.observation_space
        assert info["task"] == task


def test_every_step_has_the_same_plain_info() -> None:
    env = make()
    _, first = env.reset(seed=0)
    _, reward, terminated, truncated, later = env.step(STILL)
    assert list(first) == list(later)
    assert set(KEYS) <= set(first)
    assert first["instruction"] == later["instruction"] == env.instruction == env.task_description
    for value in later.values():
        assert type(value) in (bool, int, float, str)
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)


def test_a_start_is_the_same_for_the_same_task_and_number() -> None:
    env, other = VLAStateEnv(), VLAStateEnv(tasks=["push", "stack"])
    options = {"task": "stack", "init_state_id": 11, "group": 4}
    first, info = env.reset(seed=1, options=options)
    env.step(np.ones(7, np.float32))
    other.reset(seed=2)
    again, info_again = other.reset(options={**options, "group": 5})
    assert np.array_equal(first, again)
    assert info == info_again
    assert info["init_state_id"] == 11
    different, _ = env.reset(options={**options, "init_state_id": 12})
    assert not np.array_equal(first, different)


def test_a_seed_fixes_the_draws_and_options_do_not_shift_them() -> None:
    env = VLAStateEnv(tasks=["reach", "button", "knob"])

    def draws(options: dict[str, Any] | None) -> list[tuple[str, int]]:
        env.reset(seed=3)
        env.reset(options=options)
        infos = [env.reset()[1] for _ in range(6)]
        return [(info["task"], info["init_state_id"]) for info in infos]

    assert draws(None) == draws({"task": "knob", "init_state_id": 2})
    assert len(set(draws(None))) == 6
    assert len({task for task, _ in draws(None)}) > 1


def test_success_pays_once_and_ends_the_episode() -> None:
    env = make()
    env.reset(options={"init_state_id": 1})
    *before, last = solve(env)
    assert [step[1] for step in before] == [0.0] * len(before)
    assert not any(step[2] or step[3] or step[4]["success_once"] for step in before)
    _, reward, terminated, truncated, info = last
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["is_success"]
    assert info["success_once"]
    assert info["success_at_end"]


def test_success_may_be_lost_again_without_termination() -> None:
    env = make(terminate_on_success=False, horizon=40)
    env.reset(options={"init_state_id": 1})
    expert, steps = Expert(env.simulation), []
    while not steps or not steps[-1][4]["is_success"]:
        steps.append(env.step(expert.act()))
    up = np.array([0, 0, 1, 0, 0, 0, 0], np.float32)
    while not steps[-1][3]:
        steps.append(env.step(up))
    assert len(steps) == 40
    assert sum(step[1] for step in steps) == 1.0
    info = steps[-1][4]
    assert not steps[-1][2]
    assert (info["is_success"], info["success_once"], info["success_at_end"]) == (
        False,
        True,
        False,
    )


@pytest.mark.parametrize("task", ["reach", "drawer"])
def test_progress_pays_one_in_total_for_success(task: str) -> None:
    env = make(task=task, reward="progress")
    env.reset(seed=0)
    rewards = [step[1] for step in solve(env)]
    assert sum(rewards) == pytest.approx(1.0)


@pytest.mark.parametrize("task", list(FAMILIES))
def test_any_return_of_progress_is_a_score(task: str) -> None:
    env = make(task=task, reward="progress", horizon=30)
    rng = np.random.default_rng(0)
    for seed in range(2):
        env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            _, reward, terminated, truncated, info = env.step(rng.uniform(-1, 1, 7))
            total += reward
            ended = terminated or truncated
            assert total == pytest.approx(info["progress"], abs=1e-12)
            assert -1e-12 <= total <= 1.0


def test_the_horizon_truncates() -> None:
    env = make(horizon=3)
    env.reset(seed=0)
    ends = [env.step(STILL)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    longest = VLAStateEnv(task="reach")
    longest.reset(seed=0)
    truncations = [longest.step(STILL)[3] for _ in range(FAMILIES["reach"].horizon)]
    assert truncations == [False] * (len(truncations) - 1) + [True]


def test_success_on_the_last_step_is_no_truncation() -> None:
    env = make()
    env.reset(options={"init_state_id": 1})
    needed = len(solve(env))
    env = make(horizon=needed)
    env.reset(options={"init_state_id": 1})
    assert solve(env)[-1][2:4] == (True, False)


@pytest.mark.parametrize("bad", [None, np.full(7, np.nan), [1.0, 2.0], "left", np.full(7, 9.0)])
def test_a_bad_action_never_raises(bad: Any) -> None:
    env = make()
    env.reset(seed=0)
    observation, _, _, _, info = env.step(bad)
    assert observation in env.observation_space
    assert info["bad_action"]
    assert not env.step(STILL)[4]["bad_action"]


def test_returned_observations_are_not_reused() -> None:
    env = make()
    first, _ = env.reset(seed=0)
    kept = first.copy()
    env.step(np.ones(7, np.float32))
    assert np.array_equal(first, kept)


@pytest.mark.parametrize("task", list(FAMILIES))
def test_a_saved_episode_goes_on_bit_for_bit(task: str) -> None:
    env = make(task=task, reward="progress", terminate_on_success=False)
    env.reset(seed=4)
    actions = np.random.default_rng(0).uniform(-1, 1, (24, 7)).astype(np.float32)
    for action in actions[:12]:
        env.step(action)
    saved = env.save_state()
    assert isinstance(saved, bytes)
    first = [env.step(action) for action in actions[12:]]
    other = make(tasks=list(FAMILIES), task=None, reward="progress", terminate_on_success=False)
    other.restore_state(saved)
    env.reset(seed=9)
    env.restore_state(saved)
    for again in (env, other):
        for action, step in zip(actions[12:], first, strict=True):
            repeated = again.step(action)
            assert np.array_equal(repeated[0], step[0])
            assert repeated[1:] == step[1:]


def test_a_saved_episode_keeps_its_counters() -> None:
    env = make(horizon=5, terminate_on_success=False)
    env.reset(options={"init_state_id": 1})
    for _ in range(4):
        env.step(STILL)
    saved = env.save_state()
    env.reset(seed=1)
    env.restore_state(saved)
    assert env.step(STILL)[3]


def test_a_state_that_does_not_fit_is_refused() -> None:
    env = make()
    env.reset(seed=0)
    saved = env.save_state()
    for arguments, said in (
        ({"substeps": 5}, "saved with substeps=10, but this environment has substeps=5"),
        ({"settle_steps": 3}, "settle_steps=3"),
        ({"task": "reach"}, r"state of the task 'button', which is not one of \('reach',\)"),
    ):
        with pytest.raises(ValueError, match=said):
            make(**arguments).restore_state(saved)
    for broken in (b"", b"nonsense", b"[1]\n", b"\xff\n", saved[:-3], saved[:-8]):
        with pytest.raises(ValueError, match="state"):
            env.restore_state(broken)


def test_substeps_change_the_physics_and_not_the_clock() -> None:
    coarse, fine = make(substeps=5), make(substeps=20)
    for env in (coarse, fine):
        env.reset(options={"init_state_id": 0})
        for _ in range(10):
            env.step(np.array([0.5, 0.3, -0.2, 0, 0, 0, 0]))
        assert env.simulation.data.time == pytest.approx(0.05 * 20)
    assert np.allclose(coarse.simulation.view.hand, fine.simulation.view.hand, atol=5e-3)
    assert not np.array_equal(coarse.simulation.view.hand, fine.simulation.view.hand)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"task": "juggle"}, "task='juggle' is unknown; choose from reach"),
        ({"tasks": ["reach"], "task": "push"}, "give one of the two"),
        ({"tasks": [], "task": None}, r"tasks=\[\] is empty"),
        ({"split": "test"}, "split='test' must be one of train, held_out"),
        ({"reward": "dense"}, "reward='dense' must be one of sparse, progress"),
        ({"horizon": 0}, "horizon=0 must be at least 1"),
        ({"settle_steps": -1}, "settle_steps=-1 must be at least 0"),
        ({"substeps": 0}, "substeps=0 must be at least 1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make(**arguments)


def test_bad_options() -> None:
    env = make()
    with pytest.raises(ValueError, match=r"options\['task'\]='reach' is not among the tasks"):
        env.reset(options={"task": "reach"})
    with pytest.raises(ValueError, match="init_state_id=-2 must be at least 0"):
        env.reset(options={"init_state_id": -2})
    with pytest.raises(TaskError):
        make(task="juggle")
    with pytest.raises(RuntimeError, match="call reset"):
        make().step(STILL)


def test_make_vec_runs_it() -> None:
    envs = gym.make_vec(ENV_ID, num_envs=3, task="reach", horizon=4)
    assert isinstance(envs, SyncVectorEnv)
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (3, 84)
    assert len(set(infos["init_state_id"].tolist())) == 3
    for _ in range(6):
        observations, *_, infos = envs.step(np.zeros((3, 7), np.float32))
    assert observations in envs.observation_space
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_processes_see_what_one_process_sees(context: str) -> None:
    def run(envs: Any) -> list[Any]:
        envs.reset(seed=7)
        actions = np.random.default_rng(0).uniform(-1, 1, (8, 2, 7)).astype(np.float32)
        seen = [envs.step(action)[:4] for action in actions]
        envs.close()
        return seen

    factory = gym.make
    arguments = {"tasks": ["reach", "knob"], "horizon": 5}
    factories = [Factory(factory, arguments)] * 2
    mode = AutoresetMode.SAME_STEP
    here = run(SyncVectorEnv(factories, autoreset_mode=mode))
    there = run(AsyncVectorEnv(factories, context=context, autoreset_mode=mode))
    for ours, theirs in zip(here, there, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a, b)


class Factory:
    """Makes the environment in whichever process it is called; can be pickled."""

    def __init__(self, make_env: Any, arguments: dict[str, Any]) -> None:
        self.make_env, self.arguments = make_env, arguments

    def __call__(self) -> Any:
        return self.make_env(f"wmrl_gym:{ENV_ID}", **self.arguments)


def test_without_mujoco_the_error_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['mujoco'] = None\n"
        "import gymnasium, wmrl_gym\n"
        "from wmrl_gym.errors import MissingDependencyError\n"
        "try:\n"
        f"    gymnasium.make('{ENV_ID}')\n"
        "except MissingDependencyError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 'pip install "wmrl-gym[vla]"' in said.stdout
