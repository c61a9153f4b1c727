"""Grading: what is valid, what is not and why, and that our own faults are not the agent's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.toy_task import toy_task
from wmrl_gym import Status
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.grading import Grade, evaluate, grade
from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.envs.mle.submissions import MAX_BYTES
from wmrl_gym.envs.mle.task import Task

Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture(params=task_names())
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


def sample(task: Task) -> pd.DataFrame:
    return pd.read_csv(task.public / "sample_submission.csv", dtype=str)


def perfect(task: Task) -> pd.DataFrame:
    answers = pd.read_csv(task.private / "test.csv", dtype=str)
    match METRICS[task.metric].prediction:
        case "probabilities":
            columns = {label: answers[task.target] == label for label in task.classes}
            return answers[["id"]].assign(**columns).astype(int)
        case "score":
            return answers.assign(**{task.target: answers[task.target] == task.classes[1]}).astype(
                {task.target: int}
            )
        case _:
            return answers


def encode(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


# --- valid ---


def test_the_sample_submission_is_valid(task: Task) -> None:
    result = grade(task, encode(sample(task)))
    assert (result.status, result.reason) == (Status.COMPLETED, "")
    assert type(result.metric) is float
    assert result.position is not None
    assert result.position < 0.2


def test_a_perfect_submission_has_position_one(task: Task) -> None:
    result = grade(task, encode(perfect(task)))
    assert result.metric == pytest.approx(METRICS[task.metric].optimum, abs=1e-12)
    assert (result.status, result.position, result.score) == (Status.COMPLETED, 1.0, 1.0)


def test_order_of_rows_and_columns_is_free(task: Task) -> None:
    generator = np.random.default_rng(0)
    frame = perfect(task)
    shuffled = frame.iloc[generator.permutation(len(frame)), ::-1]
    assert grade(task, encode(shuffled)) == grade(task, encode(frame))


def test_grading_twice_gives_the_same(task: Task) -> None:
    submission = encode(sample(task))
    assert grade(task, submission) == grade(task, submission)


def test_probabilities_of_a_row_are_divided_by_their_sum() -> None:
    task = load_task("wine-cultivar")
    frame = sample(task).assign(cultivar_1=0.2, cultivar_2=0.1, cultivar_3=0.1)
    doubled = frame.assign(cultivar_1=0.4, cultivar_2=0.2, cultivar_3=0.2)
    assert evaluate(task, encode(frame)) == pytest.approx(evaluate(task, encode(doubled)))


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("id", '"id"'),
        lambda text: text.removesuffix("\n"),
        lambda text: "".join(
            f"{line}.0\n" if line[-1].isdigit() else f"{line}\n" for line in text.split()
        ),
    ],
    ids=["bom", "crlf", "blank lines", "spaces", "quotes", "no last newline", "whole floats"],
)
def test_harmless_differences_in_writing(rewrite: Callable[[str], str]) -> None:
    task = load_task("digits")
    text = encode(perfect(task)).decode()
    assert grade(task, rewrite(text).encode()).position == 1.0


def test_scores_may_be_any_finite_numbers_where_only_ranks_count() -> None:
    task = load_task("penguin-sex")
    frame = perfect(task)
    assert evaluate(task, encode(frame.assign(sex=frame["sex"] * 50.0 - 40.0))) == 1.0


# --- not valid ---


def changed(column: str, value: object) -> Change:
    """Put `value` into the first row."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype(object)
        frame.loc[frame.index[0], column] = value
        return frame

    return change


def first_id_again(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.head(1)])


COMMON: list[tuple[str, Change, str]] = [
    ("no rows", lambda f: f.head(0), "53 missing"),
    ("a row lacks", lambda f: f.iloc[1:], "1 missing"),
    ("a row twice", first_id_again, "1 repeated"),
    ("all rows twice", lambda f: pd.concat([f, f]), "53 repeated"),
    ("a strange id", changed("id", 10**9), "1 missing: .*; 1 unknown: '1000000000'"),
    ("no id", lambda f: f.drop(columns="id"), "the columns are"),
    ("a column more", lambda f: f.assign(extra=1), "the columns are .*'extra'"),
    ("a column less", lambda f: f.drop(columns="cultivar_3"), "the columns are"),
    ("a wrong name", lambda f: f.rename(columns={"cultivar_3": "c"}), "have to be .*'cultivar_3'"),
    ("an index", lambda f: f.reset_index(names=""), "the columns are ''"),
    ("a gap", changed("cultivar_2", None), "'cultivar_2' of id .* is ''; .* finite number"),
    ("nan", changed("cultivar_2", "nan"), "is 'nan'"),
    ("infinity", changed("cultivar_2", "inf"), "is 'inf'"),
    ("text", changed("cultivar_2", "high"), "is 'high'"),
    ("an underscore", changed("cultivar_2", "0_1"), "is '0_1'"),
    ("negative", changed("cultivar_2", -0.1), "has a negative probability \\(1 such rows\\)"),
    ("above one", changed("cultivar_2", 1.5), "has a probability above 1"),
    ("zeros", lambda f: f.assign(cultivar_1=0, cultivar_2=0, cultivar_3=0), "only zero .*53 such"),
]


@pytest.mark.parametrize(("change", "reason"), [c[1:] for c in COMMON], ids=[c[0] for c in COMMON])
def test_submissions_that_break_a_rule(change: Change, reason: str) -> None:
    task = load_task("wine-cultivar")
    assert_invalid(grade(task, encode(change(sample(task)))), reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"\xff\xfe\x00", "not CSV in UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "not CSV in UTF-8"),
        (b'id,digit\n"1,2\n', "not CSV in UTF-8"),
        (b"id,digit\n1,2,3\n", "row 1 has 3 cells where the header has 2"),
        (b"id,digit\n1\n", "row 1 has 1 cells"),
        (b"id;digit\n1;2\n", "the columns are 'id;digit'"),
        (b"id,digit,digit\n1,2,2\n", "the columns are"),
        (b"x" * (MAX_BYTES + 1), "more than 16777216 bytes"),
        (b"id,digit\n1," + b"9" * 200_000, "not CSV in UTF-8: field larger"),
    ],
)
def test_files_that_are_no_submission(content: bytes, reason: str) -> None:
    assert_invalid(grade(load_task("digits"), content), reason)


@pytest.mark.parametrize("label", ["10", "3.5", "", "three", "nan", "-1", "3."])
def test_labels_that_are_no_class(label: str) -> None:
    task = load_task("digits")
    result = grade(task, encode(changed("digit", label)(sample(task))))
    assert_invalid(result, f"1 labels are not classes of the task: '{label}'; the classes are '0'")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("abalone", -1e-9, "is negative"),
        ("diabetes", 1e200, "finite number"),
        ("diabetes", "1e999", "finite number"),
        ("phishing", "yes", "finite number"),
    ],
)
def test_numbers_that_cannot_be_graded(name: str, value: object, reason: str) -> None:
    task = load_task(name)
    result = grade(task, encode(changed(task.target, value)(sample(task))))
    assert_invalid(result, reason)


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_give_a_finite_metric() -> None:
    task = load_task("diabetes")
    result = grade(task, encode(sample(task).assign(progression="1e100")))
    assert result.metric == pytest.approx(1e100)
    assert result.position == 0.0


def test_no_submission_is_not_an_invalid_one() -> None:
    result = grade(load_task("digits"), None)
    assert (result.status, result.metric, result.score) == (Status.NO_RESULT, None, 0.2)


def assert_invalid(result: Grade, reason: str) -> None:
    assert result.status is Status.INVALID_RESULT
    assert (result.metric, result.position, result.score) == (None, None, 0.2)
    assert re.search(reason, result.reason), result.reason


# --- our own faults ---


def test_a_fault_of_ours_is_not_an_invalid_submission(tmp_path: Path) -> None:
    task = toy_task(tmp_path, pd.DataFrame({"x": range(20), "y": range(20)}), name="broken")
    submission = (task.public / "sample_submission.csv").read_bytes()
    (task.private / "test.csv").write_text("id,y\n1,not a number\n")
    with pytest.raises(ValueError, match="could not convert"):
        grade(task, submission)
