"""Figures of an evaluation, by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from wmrl_gym.agents.llm.journal import Attempt
from wmrl_gym.agents.llm.results import (
    AttemptResult,
    TaskResult,
    any_medal,
    attempt_result,
    by_task,
    stratified_mean,
)
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.interchange.trajectories import Trajectory, TrajectoryStep

TASK = "wine-cultivar-micro"


def step(reward: float, **info: Any) -> TrajectoryStep:
    told = {"llm/tokens": 10, "llm/seconds": 0.5, **info}
    return TrajectoryStep("said", "heard", reward, False, False, told)


def episode(*steps: TrajectoryStep) -> Trajectory:
    return Trajectory(
        env_id="WMRL-MLE-v0", env_kwargs={}, wrappers=(), run="r", episode=0, slot=0, seed=0,
        options={"task": TASK, "attempt": 2}, observation="", info={}, steps=steps, finished=True,
        started=datetime.now(UTC), seconds=1.0, version="0",
    )  # fmt: skip


def result(number: int, score: float, *, task: str = TASK, metric: float | None = None) -> Any:
    return AttemptResult(Attempt(task, number), score, metric, {"completed": 1}, 2, 10, 1.0, 2.0)


def test_an_attempt_is_judged_by_the_submission_that_it_handed_in() -> None:
    # A crash, a submission of metric 0.9, a worse one of 1.2, and `submit 1`.
    found = attempt_result(
        episode(
            step(0.1, status=1, submissions=0, handed_in=0, score=0.1,
                 **{"execution/seconds": 1.0}),
            step(0.5, status=6, submissions=1, handed_in=1, score=0.6,
                 **{"execution/seconds": 2.0, "execution/metric": 0.9}),
            step(0.0, status=6, submissions=2, handed_in=1, score=0.6,
                 **{"execution/seconds": 4.0, "execution/metric": 1.2}),
            step(0.0, status=-2, submissions=2, handed_in=1, score=0.6),
        )
    )  # fmt: skip
    assert found.attempt == Attempt(TASK, 2)
    assert (found.score, found.metric) == (0.6, 0.9)
    assert found.statuses == {"crashed": 1, "completed": 2}
    assert (found.turns, found.tokens, found.seconds_model) == (4, 40, 2.0)
    assert found.seconds_executing == 7.0


def test_an_attempt_without_a_submission_has_no_metric() -> None:
    found = attempt_result(episode(step(0.0, status=0, submissions=0, handed_in=0, score=0.0)))
    assert found.metric is None
    assert found.statuses == {"malformed": 1}


def test_means_and_intervals() -> None:
    # Attempts are drawn again within tasks: with equal ones the interval is a point.
    assert stratified_mean([[0.2, 0.2], [0.6]]) == pytest.approx((0.4, 0.4, 0.4))
    mean, low, high = stratified_mean([[0.0, 1.0] * 50, [0.5] * 100])
    # The standard error of the first task is 0.05, halved by the mean over two tasks: 1.96 * 0.025.
    assert mean == pytest.approx(0.5)
    assert (low, high) == pytest.approx((0.451, 0.549), abs=0.004)


def test_results_by_task() -> None:
    found = [result(2, 0.4), result(1, 0.6), result(1, 1.0, task="diabetes-micro", metric=0.0)]
    one, two = by_task(found, ["diabetes-micro", TASK, "penguin-sex-micro"])
    assert (one.task, two.task) == ("diabetes-micro", TASK)
    assert two.scores == [0.6, 0.4]
    assert two.positions == [0.0, 0.0]
    # An error of 0 is a perfect regression.
    assert one.positions == [1.0]
    figures = two.to_dict()
    assert figures["mean"] == pytest.approx(0.5)
    assert (figures["best"], figures["attempts"], figures["medals"]) == (0.6, 2, None)
    assert figures["statuses"] == {"completed": 2}
    assert (figures["turns"], figures["tokens"]) == (4, 20)
    assert any_medal([one, two]) is None


class Ranked:
    """A task with a leaderboard of 100 teams, scores 1 to 100."""

    name = "ranked"
    higher_is_better = True
    leaderboard = tuple(float(place) for place in range(100, 0, -1))


def test_medals_where_there_is_a_leaderboard(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = {"ranked": Ranked()}
    monkeypatch.setattr(
        "wmrl_gym.agents.llm.results.load_task", lambda name: tasks.get(name) or load_task(name)
    )
    # 100 teams: gold for the first 10, silver for 20, bronze for 40.
    metrics = [91.0, 81.0, 61.0, 60.0, None]
    found = [result(i, 0.5, task="ranked", metric=m) for i, m in enumerate(metrics, start=1)]
    ranked = TaskResult("ranked", found)
    assert ranked.medals == {"gold": 1, "silver": 1, "bronze": 1}
    assert ranked.positions == pytest.approx([0.91, 0.81, 0.61, 0.60, 0.0])
    percent = any_medal([ranked, TaskResult(TASK, [result(1, 0.5)])])
    assert percent is not None
    # Three of five seeds, each with one competition: 100, 100, 100, 0, 0.
    assert percent.mean == pytest.approx(60.0)
    assert percent.standard_error == pytest.approx(100 * (0.3**0.5) / 5**0.5)
