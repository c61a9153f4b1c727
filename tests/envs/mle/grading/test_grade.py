"""Grading in a sandbox of its own: every task, and every way that a grader can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.envs.mle.grading.test_table import encode, perfect, sample
from tests.envs.mle.toy_task import table_task, toy_task
from tests.sandboxes.backends import BACKENDS
from wmrl_gym import Status
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.grading import Grade, GraderError, GraderFault, evaluate, grade
from wmrl_gym.envs.mle.task import Grader
from wmrl_gym.sandboxes import Limits, select_sandbox

FRAME = pd.DataFrame({"x": range(20), "y": range(20)})


@pytest.mark.parametrize("name", task_names(micro=True))
def test_the_sample_and_the_perfect_submission_of_every_task(name: str) -> None:
    task = table_task(name)
    first, best = grade(task, encode(sample(task))), grade(task, encode(perfect(task)))
    assert (first.status, first.reason, first.fault) == (Status.COMPLETED, "", None)
    assert type(first.metric) is float
    assert first.position is not None
    assert first.position < 0.5
    assert (best.status, best.position, best.score, best.public_score) == (6, 1.0, 1.0, 1.0)
    assert best.metric_all == pytest.approx(task.optimum, abs=1e-12)


def test_grading_twice_gives_the_same() -> None:
    submission = encode(sample(table_task("diabetes")))
    assert len({grade(table_task("diabetes"), submission) for _ in range(3)}) == 1


def test_no_submission_is_not_an_invalid_one() -> None:
    result = grade(table_task("digits"), None)
    assert (result.status, result.metric, result.score) == (Status.NO_RESULT, None, 0.2)


def test_an_invalid_submission_has_a_reason_and_no_metric() -> None:
    result = grade(table_task("digits"), b"id,digit\n1,2\n")
    assert (result.status, result.score, result.fault) == (Status.INVALID_RESULT, 0.2, None)
    assert (result.metric, result.public_metric, result.metric_all) == (None, None, None)
    assert "missing" in result.reason


def test_a_fault_of_ours_is_not_an_invalid_submission(tmp_path: Path) -> None:
    task = toy_task(tmp_path, FRAME, name="broken")
    submission = encode(sample(task))
    (task.private / "test.csv").write_text("id,y,Usage\n1,not a number,Private\n")
    result = grade(task, submission.splitlines(keepends=True)[0] + b"1,2\n")
    assert result == Grade(Status.UNSCORED, reason=result.reason, fault=GraderFault.ERROR)
    assert result.score is None
    assert "could not convert" in result.reason


def test_a_metric_that_is_not_finite_is_a_fault(tmp_path: Path) -> None:
    """Where all answers are of one class, the area under the curve is not defined."""
    frame = pd.DataFrame({"x": range(20), "y": ["a", "b"] * 10})
    binary = {"kind": "binary", "metric": "roc_auc", "classes": ("a", "b")}
    task = toy_task(tmp_path, frame, name="one-class", **binary)
    (task.private / "test.csv").write_text("id,y,Usage\n1,a,Private\n2,a,Private\n")
    result = grade(task, b"id,y\n1,0.2\n2,0.3\n")
    assert (result.status, result.fault) == (Status.UNSCORED, GraderFault.ERROR)


@pytest.fixture(scope="module")
def many_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers that take longer and need more to read than a small grader has."""
    answers = tmp_path_factory.mktemp("many") / "answers.csv"
    rows = "".join(f"{row},1.5,Private\n" for row in range(1_000_000))
    answers.write_text(f"id,y,Usage\n{rows}")
    return answers


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_fault_has_its_name(many_answers: Path, backend: str) -> None:
    """A grader that is swamped, by answers that are larger than its limits allow for."""
    rules = {"metric": "rmse", "id_column": "id", "targets": ["y"], "columns": ["id", "y"]}
    for limits, fault in (
        (Limits(wall_s=0.2), GraderFault.TIMEOUT),
        (Limits(wall_s=60, memory_mb=100), GraderFault.OUT_OF_MEMORY),
    ):
        grader = Grader("table", rules, files={"answers.csv": many_answers}, limits=limits)
        with pytest.raises(GraderError) as caught:
            evaluate(grader, b"id,y\n1,2\n", select_sandbox(backend))
        assert caught.value.fault is fault


def test_a_grader_that_does_not_exist_is_a_fault() -> None:
    with pytest.raises(GraderError, match="KeyError: 'oracle'") as caught:
        evaluate(Grader("oracle", {}), b"")
    assert caught.value.fault is GraderFault.ERROR


@pytest.mark.parametrize("backend", BACKENDS)
def test_grading_is_the_same_in_every_back_end(backend: str) -> None:
    task = table_task("wine-cultivar")
    submission = encode(sample(task))
    assert grade(task, submission, select_sandbox(backend)) == grade(task, submission)


@pytest.mark.parametrize(
    "result",
    [
        "{",
        "[]",
        "3",
        "{}",
        '{"values": 3}',
        '{"values": {"private": "x", "public": null, "all": 1.0}}',
        '{"values": {"private": NaN, "public": null, "all": 1.0}}',
        '{"values": {"private": true, "public": null, "all": 1.0}}',
        '{"values": {"private": 1.0, "public": null, "all": null}}',
        '{"values": {"private": 1.0, "public": null, "all": 1.0, "more": 1.0}}',
        '{"values": {"private": 1.0, "public": null, "all": 1.0}, "invalid": "both"}',
    ],
)
def test_a_result_that_a_grader_forged_badly_is_a_fault(tmp_path: Path, result: str) -> None:
    """The grader's own files come first on its path: this one takes the place of ours."""
    pandas = tmp_path / "pandas.py"
    pandas.write_text(
        f"import os\nopen('grading-result.json', 'w').write({result!r})\nos._exit(0)\n"
    )
    rules = {"metric": "rmse", "id_column": "id", "targets": ["y"], "columns": ["id", "y"]}
    grader = Grader("table", rules, files={"pandas.py": pandas})
    with pytest.raises(GraderError) as caught:
        evaluate(grader, b"id,y\n1,2\n", select_sandbox("landlock"))
    assert caught.value.fault is GraderFault.ERROR


def test_rules_travel_as_json() -> None:
    grader = table_task("wine-cultivar").grader
    assert json.loads(json.dumps(grader.rules))["columns"][0] == "id"
