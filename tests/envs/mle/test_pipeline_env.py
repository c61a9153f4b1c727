"""The numeric twin: what it proposes, pays and shows."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import wmrl_gym  # noqa: F401  # registers the ids
from tests.envs.mle.toy_task import table_task
from wmrl_gym.envs.mle.catalog import available_task_names
from wmrl_gym.envs.mle.pipeline_env import MLEPipelineEnv
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import NVEC
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Outcome, Status

TREE = np.array([1, 1, 0, 0, 3, 1, 1, 0, 0])
"""Median, one-hot, a medium decision tree, no validation: runs in a few milliseconds."""


def make(**arguments: Any) -> MLEPipelineEnv:
    return MLEPipelineEnv(**{"tasks": ["wine-cultivar", "diabetes"], **arguments})


def test_the_observation_describes_the_task() -> None:
    env = make()
    observation, info = env.reset(seed=0, options={"task": "diabetes"})
    assert observation in env.observation_space
    assert np.allclose(observation, list(env.task.features().values()))
    assert info == {"task_index": 1, "status": -2, "score": 0.0}
    other, _ = env.reset(options={"task": "wine-cultivar"})
    assert not np.array_equal(observation, other)


def test_every_task_with_one_target_fits_the_observation_space() -> None:
    env = MLEPipelineEnv()
    tasks = [table_task(name) for name in available_task_names()]
    kinds = ("binary", "multiclass", "regression")
    suited = [t for t in tasks if t.kind in kinds and len(t.targets) == 1]
    assert len(suited) > 40
    for task in suited:
        observation, _ = env.reset(options={"task": task.name})
        assert observation in env.observation_space


def test_other_tasks_are_refused() -> None:
    with pytest.raises(TaskError, match="'yeast-functions' is not one table with one target"):
        MLEPipelineEnv(task="yeast-functions")
    with pytest.raises(ValueError, match=r"options\['task'\]='yeast-functions'"):
        MLEPipelineEnv().reset(options={"task": "yeast-functions"})


def test_equal_seeds_draw_equal_tasks() -> None:
    env = make()
    drawn = [env.reset(seed=seed)[1]["task_index"] for seed in range(20)]
    assert drawn == [env.reset(seed=seed)[1]["task_index"] for seed in range(20)]
    assert set(drawn) == {0, 1}


def test_a_proposal_is_the_script_with_what_is_known_about_it() -> None:
    env = make(timeout_s=7.5)
    env.reset(options={"task": "diabetes"})
    execution = env.propose(TREE)
    assert execution == env.propose(TREE.tolist())  # type: ignore[arg-type]  # lists will do
    assert execution.task == "diabetes"
    assert execution.task_version == env.task.version
    assert execution.artifact == env.script(TREE) == render(env.describe(TREE), env.task)
    assert execution.timeout_s == 7.5
    assert execution.features["task/is_regression"] == 1.0
    assert execution.features["choice/model=tree"] == 1.0
    assert "diabetes" in execution.context.lower()


@pytest.mark.parametrize(
    "action",
    [NVEC, -NVEC, NVEC[:3], [0.5] * 9, [np.nan] * 9, "gibberish", None, [[1], [1, 2]]],
    ids=str,
)
def test_a_bad_action_is_malformed_and_never_raises(action: Any) -> None:
    env = make(render_mode="ansi")
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["status"] == Status.MALFORMED
    assert info["score"] == 0.0
    with pytest.raises(ValueError):
        env.describe(action)
    env.close()


def test_an_outcome_without_a_score_pays_nothing_and_says_so() -> None:
    env = make()
    env.reset(seed=0)
    _, reward, terminated, _, info = env.resolve(TREE, Outcome.unscored("the sandbox failed"))
    assert (reward, terminated) == (0.0, True)
    assert info["status"] == Status.UNSCORED
    assert info["score"] == 0.0


@pytest.mark.slow
def test_a_step_runs_the_script_and_pays_its_score() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=0, options={"task": "wine-cultivar"})
    _, reward, terminated, truncated, info = env.step(TREE)
    assert (terminated, truncated) == (True, False)
    assert info["status"] == Status.COMPLETED
    assert 0.5 <= reward == info["score"] <= 1.0
    shown = env.render()
    assert shown is not None
    assert "DecisionTreeClassifier" in shown
    assert "log loss" in shown or "log_loss" in shown
    env.close()


@pytest.mark.slow
def test_pipelines_crash_and_time_out() -> None:
    env = make(tasks=["auto-mpg", "digits"], timeout_s=2.0)
    env.reset(options={"task": "auto-mpg"})
    no_imputation = [0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert env.step(np.array(no_imputation))[4] == {"task_index": 0, "status": 1, "score": 0.1}
    env.reset(options={"task": "digits"})
    huge_forest_in_cross_validation = [1, 1, 0, 1, 4, 3, 0, 2, 0]
    _, reward, _, _, info = env.step(np.array(huge_forest_in_cross_validation))
    assert info["status"] == Status.TIMED_OUT
    assert reward == 0.1
    env.close()


@pytest.mark.slow
def test_check_env_passes_without_a_warning() -> None:
    env = gym.make("wmrl_gym:WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_the_spec_survives_json() -> None:
    env = gym.make("WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"], timeout_s=5.0)
    assert env.spec is not None
    twin = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(twin.unwrapped, MLEPipelineEnv)
    assert twin.unwrapped.timeout_s == 5.0
    assert twin.unwrapped.task.name == "wine-cultivar"
    env.close()
    twin.close()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="no-such-task"):
        make(tasks=["no-such-task"])
    with pytest.raises(ValueError, match="timeout_s=0"):
        make(timeout_s=0)
    with pytest.raises(ValueError, match="'digits'"):
        make().reset(options={"task": "digits"})
