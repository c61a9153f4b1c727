"""MLGym's tasks that submit a table or a script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load, shown
from wmrl_gym import Status
from wmrl_gym.errors import TaskError


def test_a_task_that_submits_a_table(tmp_path: Path) -> None:
    task = load(trees.mlgym(tmp_path), "diabetesProgression")
    assert (task.title, task.metric, task.submission) == (
        "Diabetes Progression",
        "rmse",
        "submission.csv",
    )
    assert "Ten measurements of each patient." in task.description
    assert "../input/data" in task.description
    assert shown(task) == {
        "baseline.py",
        "sample_submission.csv",
        "data/train.csv",
        "data/test.csv",
    }
    assert "answer.csv" in task.notes[0]
    assert "evaluate.py" in task.notes[0]
    assert (task.higher_is_better, task.optimum) == (False, 0.0)
    assert task.references["baseline"] == 77.0


def test_its_script_sees_whole_files_in_the_order_of_the_answers(tmp_path: Path) -> None:
    task = load(trees.mlgym(tmp_path), "diabetesProgression")
    answers = trees.regression().answers
    done = graded(task, answers.sample(frac=1, random_state=4))
    assert (done.metric, done.public_metric, done.metric_all) == (0.0, None, 0.0)
    rough = graded(task, answers.assign(progression=150.0))
    errors = answers["progression"] - 150.0
    assert rough.metric == pytest.approx(float(np.sqrt((errors**2).mean())))
    assert "1 missing" in graded(task, answers.iloc[1:]).reason


def test_another_of_the_metrics_that_are_printed(tmp_path: Path) -> None:
    task = load(trees.mlgym(tmp_path), "diabetesProgression", metric="r2")
    assert task.higher_is_better is True
    assert graded(task, trees.regression().answers).metric == 1.0
    assert task.references["baseline"] == 0.0


GUESS = b"def guess(history):\n    return len(history) % 3\n"


def test_a_task_that_submits_a_script(tmp_path: Path) -> None:
    task = load(trees.mlgym(tmp_path), "guessing", higher_is_better=True)
    assert task.submission == "strategy.py"
    assert shown(task) == {"strategy.py"}  # neither the script nor the secret target
    done = graded(task, GUESS)
    assert (done.status, done.metric, done.public_metric) == (Status.COMPLETED, 1.0, None)
    assert graded(task, b"def guess(history):\n    return 5\n").metric == 0.0
    for broken in (b"def guess(history:\n", b"import nothing_at_all\n", b"x = 1\n"):
        assert graded(task, broken).status is Status.INVALID_RESULT


def test_the_direction_of_a_made_up_metric_is_asked_for(tmp_path: Path) -> None:
    task = load(trees.mlgym(tmp_path), "guessing")
    with pytest.raises(TaskError, match="--higher-is-better` or `--lower-is-better"):
        _ = task.higher_is_better


@pytest.mark.parametrize(
    ("task", "message"),
    [("model", "ModelSubmissionTasks.*cannot be imported"), ("remote", "is not on this machine")],
)
def test_what_cannot_be_imported_says_why(tmp_path: Path, task: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        load(trees.mlgym(tmp_path), task)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("evaluation_paths:\n  - evaluate.py\n", "", "has no evaluation_paths"),
        ("evaluation_paths:\n  - evaluate.py", "evaluation_paths: [x.py]", "not in its starter"),
        ("data/diabetesProgression/baseline.py", "../x.py", "leads out of"),
        ("data/diabetesProgression/baseline.py", "data/none.py", "there is no"),
        ("baseline_scores:\n  - rmse: 77.0\n    r2: 0.0\n", "", "has no baseline_scores"),
        ("datasets/diabetes.yaml", "datasets/none.yaml", "cannot be read"),
    ],
)
def test_a_broken_task_names_the_fault(tmp_path: Path, old: str, new: str, message: str) -> None:
    root = trees.mlgym(tmp_path)
    path = root / "configs" / "tasks" / "diabetesProgression.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(TaskError, match=message):
        load(root, "diabetesProgression")


def test_where_things_may_lie(tmp_path: Path) -> None:
    root = trees.mlgym(tmp_path)
    for place in (root, root / "configs", root / "configs" / "tasks"):
        assert load(place, "diabetesProgression").title == "Diabetes Progression"


@pytest.mark.parametrize(
    "evaluator",
    ["print('no JSON')\n", "print('{\"accuracy\": 1}')\n", "print('{\"rmse\": NaN}')\n", "x = (\n"],
)
def test_a_failing_script_is_an_error_of_the_grader(tmp_path: Path, evaluator: str) -> None:
    task = load(trees.mlgym(tmp_path, evaluator=evaluator), "diabetesProgression")
    done = graded(task, trees.regression().sample)
    assert done.status is Status.UNSCORED
