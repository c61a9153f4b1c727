"""Predictions for the rows of a table: what is valid, what is not and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.toy_task import table_task, toy_task
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.submissions import MAX_BYTES
from wmrl_gym.envs.mle.grading.guest.table import ANSWERS, USAGE, grade_table
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values
from wmrl_gym.envs.mle.table_task import TableTask

Change = Callable[[pd.DataFrame], pd.DataFrame]


GRADED = tuple(name + "-micro" for name in task_names())


@pytest.fixture(params=GRADED)
def task(request: pytest.FixtureRequest) -> TableTask:
    return table_task(request.param)


def grade(task: TableTask, submission: bytes) -> Values:
    """What the code inside the sandbox does, without the sandbox."""
    with TemporaryDirectory() as directory:
        submitted = Path(directory, "submitted")
        submitted.write_bytes(submission)
        submitted.with_name(ANSWERS).write_bytes((task.private / "test.csv").read_bytes())
        return grade_table(asdict(task.rules), submitted)


def sample(task: TableTask) -> pd.DataFrame:
    return pd.read_csv(task.public / "sample_submission.csv", dtype=str)


def perfect(task: TableTask) -> pd.DataFrame:
    answers = pd.read_csv(task.private / "test.csv", dtype=str).drop(columns=USAGE)
    ids = answers[[task.id_column]]
    match METRICS[task.metric].prediction:
        case "probabilities":
            columns = {label: answers[task.target] == label for label in task.classes}
            return pd.concat([ids, pd.DataFrame(columns).astype(int)], axis=1)
        case "score" if task.kind == "survival":
            return ids.assign(risk=-answers[task.targets[0]].astype(float))
        case "score" if task.kind == "binary":
            return ids.assign(
                **{task.target: (answers[task.target] == task.classes[1]).astype(int)}
            )
    return answers


def encode(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


# --- valid ---


def test_the_sample_submission_is_valid(task: TableTask) -> None:
    values = grade(task, encode(sample(task)))
    assert [type(value) for value in asdict(values).values()] == [float] * 3


def test_a_perfect_submission_is_at_the_optimum(task: TableTask) -> None:
    optimum = METRICS[task.metric].optimum
    values = grade(task, encode(perfect(task)))
    assert list(asdict(values).values()) == pytest.approx([optimum] * 3, abs=1e-12)


def test_order_of_rows_and_columns_is_free(task: TableTask) -> None:
    generator = np.random.default_rng(0)
    frame = perfect(task)
    noisy = frame.assign(
        **{c: frame[c].sample(frac=1, random_state=0).to_numpy() for c in frame.columns[1:]}
    )
    shuffled = noisy.iloc[generator.permutation(len(frame)), ::-1]
    assert grade(task, encode(shuffled)) == grade(task, encode(noisy))


def test_the_parts_are_graded_apart(tmp_path: Path) -> None:
    """Hidden by hand: two public rows, off by 1, and two private rows, off by 3."""
    task = toy_task(tmp_path, pd.DataFrame({"x": range(20), "y": range(20)}))
    answers = pd.DataFrame(
        {"id": [1, 2, 3, 4], "y": [10.0] * 4, "Usage": ["Public", "Private"] * 2}
    )
    (task.private / "test.csv").write_text(answers.to_csv(index=False))
    submission = pd.DataFrame({"id": [4, 3, 2, 1], "y": [13.0, 11.0, 13.0, 9.0]})
    values = grade(task, encode(submission))
    assert (values.public, values.private) == (1.0, 3.0)
    assert values.all == pytest.approx(5**0.5)


def test_without_public_rows_there_is_no_public_value(tmp_path: Path) -> None:
    task = toy_task(tmp_path, pd.DataFrame({"x": range(20), "y": range(20)}), name="private-only")
    (task.private / "test.csv").write_text("id,y,Usage\n1,2,Private\n")
    assert grade(task, b"id,y\n1,4\n") == Values(private=2.0, public=None, all=2.0)


def test_probabilities_of_a_row_are_divided_by_their_sum() -> None:
    task = table_task("wine-cultivar")
    frame = sample(task).assign(cultivar_1=0.2, cultivar_2=0.1, cultivar_3=0.1)
    doubled = frame.assign(cultivar_1=0.4, cultivar_2=0.2, cultivar_3=0.2)
    assert grade(task, encode(frame)).all == pytest.approx(grade(task, encode(doubled)).all)


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
    task = table_task("digits")
    text = encode(perfect(task)).decode()
    assert grade(task, rewrite(text).encode()).all == 1.0


def test_scores_may_be_any_finite_numbers_where_only_ranks_count() -> None:
    task = table_task("penguin-sex")
    frame = perfect(task)
    assert grade(task, encode(frame.assign(sex=frame["sex"] * 50.0 - 40.0))).all == 1.0


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
    ("no rows", lambda f: f.head(0), "71 missing"),
    ("a row lacks", lambda f: f.iloc[1:], "1 missing"),
    ("a row twice", first_id_again, "1 repeated"),
    ("all rows twice", lambda f: pd.concat([f, f]), "71 repeated"),
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
    ("zeros", lambda f: f.assign(cultivar_1=0, cultivar_2=0, cultivar_3=0), "only zero .*71 such"),
]


@pytest.mark.parametrize(("change", "reason"), [c[1:] for c in COMMON], ids=[c[0] for c in COMMON])
def test_submissions_that_break_a_rule(change: Change, reason: str) -> None:
    task = table_task("wine-cultivar")
    assert_invalid(task, encode(change(sample(task))), reason)


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
        (b"x" * (MAX_BYTES + 1), "more than 67108864 bytes"),
        (b"id,digit\n1," + b"9" * 200_000, "not CSV in UTF-8: field larger"),
    ],
)
def test_files_that_are_no_submission(content: bytes, reason: str) -> None:
    assert_invalid(table_task("digits"), content, reason)


@pytest.mark.parametrize("label", ["10", "3.5", "", "three", "nan", "-1", "3."])
def test_labels_that_are_no_class(label: str) -> None:
    task = table_task("digits")
    submission = encode(changed("digit", label)(sample(task)))
    assert_invalid(
        task, submission, f"1 labels are not classes of the task: '{label}'; the classes are '0'"
    )


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
    task = table_task(name)
    assert_invalid(task, encode(changed(task.target, value)(sample(task))), reason)


def test_the_largest_numbers_give_a_finite_metric() -> None:
    task = table_task("diabetes")
    values = grade(task, encode(sample(task).assign(progression="1e100")))
    assert values.private == pytest.approx(1e100)


def assert_invalid(task: TableTask, submission: bytes, reason: str) -> None:
    with pytest.raises(InvalidSubmissionError) as caught:
        grade(task, submission)
    assert re.search(reason, str(caught.value)), caught.value
