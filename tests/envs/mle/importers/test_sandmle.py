"""SandMLE tasks, whose answers lie among the public files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load, shown
from wmrl_gym import Status
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import Grade
from wmrl_gym.envs.mle.views import graded_milestone_reward
from wmrl_gym.errors import TaskError


def test_answers_and_evaluator_are_never_shown(tmp_path: Path) -> None:
    directory = trees.sandmle(tmp_path)
    public = directory / "prepared" / "public"
    trees.write(public / "copies" / "truth.csv", trees.classification(rows=120).answers)
    task = load(directory)
    assert shown(task) == {
        "train.csv",
        "test.csv",
        "sample_submission.csv",
        "description.md",
        "images/readme.txt",
    }
    assert not task.public.is_relative_to(directory)
    assert not any(path.is_symlink() for path in task.public.rglob("*"))


def test_thresholds_are_references_and_the_evaluator_tells_the_direction(tmp_path: Path) -> None:
    task = load(trees.sandmle(tmp_path))
    assert task.higher_is_better is False
    assert dict(task.references) == {
        "gold": 0.03,
        "silver": 0.05,
        "bronze": 0.08,
        "median": 0.1,
        "sample submission": 0.25,
    }
    assert task.optimum == 0.0
    # Five references are evenly spaced from 0 to 0.8; half-way from silver to gold is 0.7.
    parts = trees.classification(rows=120)
    off = parts.answers.assign(benign=abs(parts.answers["benign"] - 0.2))  # Brier score 0.04
    done = graded(task, off)
    assert done.metric == pytest.approx(0.04)
    assert done.public_metric == pytest.approx(0.04)
    assert done.position == pytest.approx(0.7)
    # Silver: 0.2 for a valid score, 0.6, and half of the 0.1 for the format.
    assert graded_milestone_reward(task, done, format_rate=0.5) == pytest.approx(0.85)
    assert graded_milestone_reward(task, done, format_rate=0.5, sparse=True) == 0.05
    none = [Grade(status) for status in (Status.NO_RESULT, Status.TIMED_OUT, Status.UNSCORED)]
    rewards = [graded_milestone_reward(task, grade, format_rate=1.0) for grade in none]
    assert rewards == [0.1, None, None]
    with pytest.raises(TaskError, match="has no threshold for gold, silver, bronze, median"):
        graded_milestone_reward(load_task("wine-cultivar"), done, format_rate=1.0)


def test_many_tasks_in_one_root(tmp_path: Path) -> None:
    for name in ("sand-a", "sand-b"):
        trees.sandmle(tmp_path, name)
    assert load(tmp_path, "sand-b").title == "sand-b"


def test_an_evaluator_that_gives_no_score_of_a_bad_submission(tmp_path: Path) -> None:
    evaluator = trees.SANDMLE_EVALUATOR.replace(
        '"score": float(score)', '"score": float(score) if both["benign"].max() <= 1 else None'
    )
    task = load(trees.sandmle(tmp_path, evaluator=evaluator))
    done = graded(task, trees.classification(rows=120).sample.assign(benign=2.0))
    assert done.status is Status.INVALID_RESULT
    assert "cannot grade it" in done.reason


def test_an_evaluator_that_insists_on_all_rows_grades_no_parts(tmp_path: Path) -> None:
    evaluator = trees.SANDMLE_EVALUATOR.replace(
        "score = brier", "assert len(both) == 48\n    score = brier"
    )
    task = load(trees.sandmle(tmp_path, evaluator=evaluator))
    done = graded(task, trees.classification(rows=120).sample)
    assert (done.metric, done.public_metric, done.metric_all) == (0.25, None, 0.25)
    assert not task.calibration.split
