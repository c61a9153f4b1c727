"""DSBench's data-modelling tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load, shown
from wmrl_gym import Status
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import Grade
from wmrl_gym.envs.mle.views import graded_performance_gap
from wmrl_gym.errors import TaskError


def test_a_competition(tmp_path: Path) -> None:
    task = load(trees.dsbench(tmp_path))
    assert task.title == "diabetes-years"
    assert task.description == "Predict the progression.\n"
    assert task.origin == "https://example.org/diabetes-years"
    assert shown(task) == {"train.csv", "test.csv", "sample_solution.csv"}


def test_the_ground_truth_is_the_optimum_and_tells_the_direction(tmp_path: Path) -> None:
    task = load(trees.dsbench(tmp_path))
    parts = trees.regression(prefix="")
    assert (task.higher_is_better, task.optimum) == (False, 0.0)
    done = graded(task, parts.sample)
    assert done.metric == task.references["sample submission"]
    errors = parts.answers["progression"] - 150.0
    assert done.metric_all == pytest.approx(float(np.sqrt((errors**2).mean())))
    assert done.position == 0.0
    # An error that is half of the sample's is half of the way to the ground truth.
    half = parts.answers.assign(progression=(parts.answers["progression"] + 150.0) / 2)
    gaps = [graded_performance_gap(task, grade) for grade in (done, graded(task, half))]
    assert gaps == [0.0, pytest.approx(0.5)]
    assert graded_performance_gap(task, graded(task, half.iloc[1:])) == 0.0
    assert graded_performance_gap(task, Grade(Status.UNSCORED)) is None
    with pytest.raises(TaskError, match=r"needs 'sample submission' and an optimum"):
        graded_performance_gap(load_task("wine-cultivar"), done)


def test_ids_are_matched_though_its_program_does_not(tmp_path: Path) -> None:
    task = load(trees.dsbench(tmp_path))
    answers = trees.regression(prefix="").answers
    done = graded(task, answers.sample(frac=1, random_state=3).iloc[:, ::-1])
    assert (done.metric, done.public_metric, done.metric_all) == (0.0, 0.0, 0.0)
    assert done.position == 1.0


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        ("import lightgbm_of_nowhere\n", "lightgbm_of_nowhere"),
        ("print('nothing written')\n", "result.txt"),
        ("import sys\nsys.exit(2)\n", "exit code 2"),
        (trees.DSBENCH_EVALUATOR.replace("str(performance)", "'good'"), "good"),
    ],
)
def test_a_failing_program_is_an_error_of_the_grader(
    tmp_path: Path, evaluator: str, reason: str
) -> None:
    done = graded(
        load(trees.dsbench(tmp_path, evaluator=evaluator)), trees.regression(prefix="").sample
    )
    assert done.status is Status.UNSCORED
    assert reason in done.reason


def test_where_things_may_lie(tmp_path: Path) -> None:
    modelling = trees.dsbench(tmp_path)
    data = modelling / "data"
    for place in (tmp_path, modelling, data, data / "data_resplit" / "diabetes-years"):
        assert load(place).title == "diabetes-years", place
    (modelling / "evaluation").rename(tmp_path / "elsewhere")
    with pytest.raises(TaskError, match=r"no evaluator diabetes-years_eval\.py.*--definitions"):
        load(modelling)
    assert load(modelling, definitions=tmp_path / "elsewhere").title == "diabetes-years"


def test_what_is_missing(tmp_path: Path) -> None:
    modelling = trees.dsbench(tmp_path)
    public = modelling / "data" / "data_resplit" / "diabetes-years"
    (public / "sample_solution.csv").rename(public / "other.csv")
    with pytest.raises(TaskError, match="has no sample submission"):
        load(modelling)
    (modelling / "data" / "answers" / "diabetes-years" / "test_answer.csv").unlink()
    with pytest.raises(TaskError, match=r"dsbench: no .*test_answer\.csv beside data_resplit"):
        load(modelling)
