from __future__ import annotations

import itertools
import time

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import wmrl_gym  # noqa: F401  # registers the ids
from wmrl_gym import Execution, Source, Status
from wmrl_gym.correction import rank_correlation
from wmrl_gym.envs.synthetic import SyntheticEnv, SyntheticWorldModel
from wmrl_gym.envs.synthetic.truth import (
    TASKS,
    best_score,
    crash_probability,
    execute,
    expected_score,
)
from wmrl_gym.world_models.registry import make_world_model


def executions(count: int, seed: int = 0, **fixed: float) -> list[Execution]:
    env = SyntheticEnv(tasks=["tin"])
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (count, 3))
    for column, name in enumerate(("ambition", "skill", "gloss")):
        actions[:, column] = fixed.get(name, actions[:, column])
    made = []
    for number, action in enumerate(actions):
        env.reset(seed=seed + number)  # whether it crashes is drawn there
        made.append(env.propose(action))
    return made


def test_environment_passes_the_check() -> None:
    env = gym.make("WMRL-Synthetic-v0")
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_expected_score_by_hand() -> None:
    # ambition 0: half way, so it crashes with 0.8 / 4 = 0.2; a perfect match scores
    # 0.45 + 0.55 (0.1 + 0.45) = 0.7525, and half a unit of gloss costs 0.05.
    assert crash_probability(0.0) == pytest.approx(0.2)
    assert expected_score("tin", [0.0, 0.3, 0.5]) == pytest.approx(0.2 * 0.1 + 0.8 * 0.7025)


def test_executions_crash_as_often_as_they_should() -> None:
    outcomes = [execute(execution) for execution in executions(2000, ambition=1.0)]
    crashed = np.mean([outcome.status is Status.CRASHED for outcome in outcomes])
    assert crashed == pytest.approx(0.8, abs=0.03)


def test_the_best_action_is_neither_timid_nor_reckless() -> None:
    for task in TASKS:
        assert best_score(task) > expected_score(task, [-1.0, 0.0, 0.0]) + 0.01
        assert best_score(task) > expected_score(task, [1.0, 0.0, 0.0]) + 0.2


def test_without_faults_the_model_is_the_truth() -> None:
    batch = executions(50)
    predicted = SyntheticWorldModel().execute(batch)
    assert [p.score for p in predicted] == [execute(execution).score for execution in batch]
    assert all(p.source is Source.PREDICTED for p in predicted)


def test_dials_by_hand() -> None:
    (execution,) = executions(1, ambition=-1.0, skill=0.3, gloss=0.5)
    # It cannot crash; 0.45 + 0.055 - 0.05 = 0.455.
    for dials, score in (
        ({"bias": 0.5}, 0.455 + 0.5 * 0.545**2),
        ({"misjudgement": 0.2}, 0.655),
        ({"hacking": 0.4}, 0.655),
        ({"bias": 0.5, "hacking": 1.5}, 1.0),
    ):
        (outcome,) = SyntheticWorldModel(**dials).execute([execution])
        assert outcome.score == pytest.approx(score)


def test_leniency_makes_ambition_look_cheap() -> None:
    # What is maximised moves from an ambition in the middle to a reckless one.
    batch = executions(20_000, skill=0.3, gloss=-1.0)
    ambition = np.array([execution.features["ambition"] for execution in batch])

    def best(model: SyntheticWorldModel) -> float:
        scores = np.array([outcome.score for outcome in model.execute(batch)])
        edges = np.linspace(-1, 1, 11)
        means = [
            scores[(ambition >= low) & (ambition < high)].mean()
            for low, high in itertools.pairwise(edges)
        ]
        return float(edges[int(np.argmax(means))])

    assert best(SyntheticWorldModel(bias=0.6)) > best(SyntheticWorldModel()) + 0.1
    assert best(SyntheticWorldModel(blindness=1.0)) == pytest.approx(0.8)  # the last bin


def test_overlooked_crashes_are_judged_by_what_they_aim_at() -> None:
    batch = executions(1000, ambition=1.0, skill=0.3, gloss=-1.0)
    scores = np.array([o.score for o in SyntheticWorldModel(blindness=0.25).execute(batch)])
    # 80 % crash, and a quarter of those look like the 20 % that run and score 1.
    assert np.mean(np.isclose(scores, 1.0)) == pytest.approx(0.2 + 0.8 / 4, abs=0.04)
    assert np.mean(np.isclose(scores, 0.1)) == pytest.approx(0.6, abs=0.04)


def test_a_learned_action_does_not_escape_chance() -> None:
    # A policy that always plays one corner must crash as often as everybody else.
    env = SyntheticEnv(tasks=["tin"])
    crashes = []
    for seed in range(300):
        env.reset(seed=seed)
        execution = env.propose(np.ones(3, dtype=np.float32))
        crashes.append(execute(execution).status is Status.CRASHED)
    assert np.mean(crashes) == pytest.approx(0.8, abs=0.07)


def test_executions_can_have_a_price() -> None:
    env = SyntheticEnv(tasks=["tin"], execution_seconds=0.05, workers=2)
    env.reset(seed=0)
    started = time.perf_counter()
    env.step(np.zeros(3, dtype=np.float32))
    assert time.perf_counter() - started >= 0.05
    with pytest.raises(ValueError, match="execution_seconds=-1"):
        SyntheticEnv(execution_seconds=-1.0)


def test_noise_lowers_the_rank_correlation_and_repeats() -> None:
    batch = executions(400)
    truth = [execute(execution).score for execution in batch]
    groups = np.repeat(np.arange(50), 8)
    model = SyntheticWorldModel(noise=0.3)
    first, again = ([o.score for o in model.execute(batch)] for _ in range(2))
    assert first == again
    assert rank_correlation(first, truth, groups) < 0.8


def test_drift_follows_the_predictions_and_resumes() -> None:
    batch = executions(500)
    model = SyntheticWorldModel(drift=0.4)
    before = [outcome.score for outcome in model.execute(batch)]
    resumed = SyntheticWorldModel(drift=0.4)
    resumed.load_state_dict(model.state_dict())
    after = [outcome.score for outcome in model.execute(batch)]
    assert np.mean(after) > np.mean(before)
    assert [outcome.score for outcome in resumed.execute(batch)] == after


def test_bad_actions_are_outcomes() -> None:
    env = SyntheticEnv(tasks=["zinc"])
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step(np.array([np.nan, 7.0, -np.inf], dtype=np.float32))
    assert 0.0 <= float(reward) <= 1.0
    assert terminated
    env.close()


def test_models_by_name() -> None:
    model = make_world_model("synthetic:bias=0.3,hacking=0.1")
    assert isinstance(model, SyntheticWorldModel)
    assert (model.bias, model.hacking, model.noise) == (0.3, 0.1, 0.0)
    with pytest.raises(ValueError, match="'colour' is no dial"):
        make_world_model("synthetic:colour=1")
    with pytest.raises(ValueError, match="could not convert"):
        make_world_model("synthetic:bias=much")


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="gold"):
        SyntheticEnv(tasks=["gold"])
    with pytest.raises(ValueError, match="lead"):
        SyntheticEnv(tasks=["tin"]).reset(options={"task": "lead"})
    with pytest.raises(ValueError, match=r"bias=0\.7"):
        SyntheticWorldModel(bias=0.7)
    with pytest.raises(ValueError, match=r"blindness=1\.5"):
        SyntheticWorldModel(blindness=1.5)
    with pytest.raises(ValueError, match=r"noise=-1\.0"):
        SyntheticWorldModel(noise=-1.0)
