"""The strict check before foreign graders, each case graded for real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import encode, graded, load
from wmrl_gym import Status
from wmrl_gym.envs.mle.importers.imported import ImportedTask

Change = Callable[[pd.DataFrame], pd.DataFrame]

# A function that checks nothing and compares row by row: whatever is refused, we refused.
CARELESS = """\
    def grade(submission, answers):
        said, true = submission[answers.columns[1]], answers[answers.columns[1]]
        return float(((said != true) & ~(said.isna() & true.isna())).mean())
    """


def task_of(root: Path, parts: trees.Parts) -> ImportedTask:
    return load(trees.MLEBench(root).add(parts=parts, grade=CARELESS))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> ImportedTask:
    return task_of(tmp_path_factory.mktemp("numbers"), trees.regression())


def refused(task: ImportedTask, submission: pd.DataFrame | bytes) -> str:
    done = graded(task, submission)
    assert (done.status, done.metric, done.score) == (Status.INVALID_RESULT, None, 0.2)
    return done.reason


def with_value(row: int, value: object) -> Change:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        column = frame["progression"].astype(object)
        column.iloc[row] = value
        return frame.assign(progression=column)

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda f: f.iloc[1:], "1 missing: "),
        (lambda f: pd.concat([f, f.tail(2)]), "2 repeated: "),
        (lambda f: pd.concat([f, f.head(1).assign(id="x-9")]), "1 unknown: 'x-9'"),
        (lambda f: f.assign(id=f["id"].str.upper()), "80 missing: .*80 unknown: "),
        (lambda f: f.assign(id=None), "unknown: 'nan'|unknown: 'None'"),
        (lambda f: f.rename(columns={"progression": "target"}), "they have to be 'id', 'progres"),
        (lambda f: f.assign(extra=1), "the columns are 'id', 'progression', 'extra'"),
        (lambda f: f[["id"]], "the columns are 'id';"),
        (lambda f: f.head(0), "80 missing"),
        (with_value(3, None), "column 'progression' has 1 values that are no finite numbers"),
        (with_value(3, np.inf), "column 'progression' has 1 values"),
        (with_value(3, "many"), "column 'progression' has to hold numbers only"),
        (with_value(3, "1,5"), "column 'progression' has to hold numbers only"),
    ],
)
def test_what_is_refused_and_why(numbers: ImportedTask, change: Change, reason: str) -> None:
    import re

    said = refused(numbers, change(trees.regression().sample))
    assert re.search(reason, said), said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not CSV in UTF-8"),
        (b"\xff\xfe\x00binary\x00", "not CSV in UTF-8"),
        (b"id,progression\nrow-1,1,2\n", "not CSV in UTF-8"),
        (b'id,progression\n"row-1,1\n', "not CSV in UTF-8"),
        (b"id,id,progression\nrow-1,row-1,2\n", "the columns are 'id', 'id.1', 'progression'"),
    ],
)
def test_what_is_no_table_is_refused(numbers: ImportedTask, content: bytes, reason: str) -> None:
    assert reason in refused(numbers, content)


def test_what_is_allowed(numbers: ImportedTask) -> None:
    answers = trees.regression().answers
    whole = answers.assign(progression=answers["progression"].astype(int))
    for frame in (answers, whole, answers.iloc[::-1], answers.iloc[:, ::-1]):
        assert graded(numbers, frame).metric_all == 0.0
    with_mark = b"\xef\xbb\xbf" + encode(answers)
    assert graded(numbers, with_mark).metric_all == 0.0


def test_ids_that_became_floats_are_the_same_ids(tmp_path: Path) -> None:
    parts = trees.regression(prefix="")
    task = task_of(tmp_path, parts)
    floats = parts.answers.assign(id=parts.answers["id"].astype(int).astype(float))
    assert graded(task, floats.sample(frac=1, random_state=2)).metric_all == 0.0


def labelled(values: pd.Series) -> trees.Parts:
    parts = trees.regression()
    answers = parts.answers[["id"]].assign(kind=values.to_numpy())
    return trees.Parts(parts.train, parts.test, answers, answers.assign(kind=values.iloc[0]))


def test_labels_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    parts = labelled(pd.Series(["007", "8 9", "x"] + ["1"] * 77))
    task = task_of(tmp_path, parts)
    assert graded(task, parts.answers).metric_all == 0.0
    all_sevens = parts.answers.assign(kind="007")
    assert graded(task, all_sevens).metric_all == pytest.approx(79 / 80)
    gap = parts.answers.assign(kind=parts.answers["kind"].where(parts.answers["id"] != "row-1"))
    assert refused(task, gap) == "column 'kind' is empty in 1 rows"


def test_truth_values(tmp_path: Path) -> None:
    parts = labelled(pd.Series([True, False] * 40))
    task = task_of(tmp_path, parts)
    assert graded(task, parts.answers).metric_all == 0.0
    assert "True or False only" in refused(task, parts.answers.assign(kind=0.5))


def test_gaps_are_allowed_where_the_answers_have_them(tmp_path: Path) -> None:
    parts = labelled(pd.Series(["1 1", None] * 40))
    sample = parts.answers.assign(kind="1 1")
    task = task_of(tmp_path, trees.Parts(parts.train, parts.test, parts.answers, sample))
    assert graded(task, parts.answers.assign(kind="1 1")).status is Status.COMPLETED
    assert graded(task, parts.answers.assign(kind=None)).status is Status.COMPLETED


def test_a_sample_that_is_cut_short_does_not_cut_the_ids_short(tmp_path: Path) -> None:
    parts = trees.regression()
    short = trees.Parts(parts.train, parts.test, parts.answers, parts.sample.head(5))
    task = task_of(tmp_path, short)
    assert graded(task, parts.answers).metric_all == 0.0
    assert "75 missing" in refused(task, parts.sample.head(5))
    assert set(task.references) == {"shuffled answers"}
    assert task.references["shuffled answers"] > 0.9
    assert task.calibration.split


def test_rows_without_a_unique_id_are_the_graders_business(tmp_path: Path) -> None:
    parts = trees.regression()
    twice = pd.concat([parts.answers, parts.answers.head(10)], ignore_index=True)
    repeated = trees.Parts(parts.train, parts.test, twice, twice.assign(progression=1.0))
    task = task_of(tmp_path, repeated)
    done = graded(task, twice)
    assert (done.metric, done.public_metric, done.metric_all) == (0.0, None, 0.0)


def test_a_submission_that_only_this_grader_cannot_grade_is_at_fault(tmp_path: Path) -> None:
    # Benchmarks' functions assert what they expect of a submission, or let a library raise.
    grade = """\
        def grade(submission, answers):
            assert (submission["progression"] > 0).all(), str(answers["progression"].tolist())
            return abs(submission["progression"] - answers["progression"]).mean()
        """
    task = load(trees.MLEBench(tmp_path).add(grade=grade))
    said = refused(task, trees.regression().sample.assign(progression=-1.0))
    # The words of the error are not told: they may quote the answers.
    assert said == "the grader cannot grade it (AssertionError), though it grades others"


def test_a_metric_that_is_not_a_number_for_one_submission_alone(tmp_path: Path) -> None:
    grade = """\
        def grade(submission, answers):
            return answers["progression"].corr(submission["progression"])
        """
    task = load(trees.MLEBench(tmp_path).add(grade=grade, metric="pearson"))
    assert graded(task, trees.regression().answers).metric_all == pytest.approx(1.0)
    assert "ArithmeticError" in refused(task, trees.regression().sample)


def test_public_rows_depend_on_the_id_alone() -> None:
    from wmrl_gym.envs.mle.grading.guest.parts import public_rows

    ids = tuple(f"id-{n}" for n in range(2000))
    public = public_rows(ids)
    assert 0.22 < public.mean() < 0.28
    assert (public_rows(ids[::-1]) == public[::-1]).all()
