"""Planted leaks are found, and clean tasks raise no alarm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.written_task import DirectoryTask, folder_task
from wmrl_gym.cli.app import run
from wmrl_gym.envs.mle.catalog import available_task_names, load_task
from wmrl_gym.envs.mle.lint import Finding, Severity, lint
from wmrl_gym.envs.mle.lint.lookup import explained, one_to_one
from wmrl_gym.envs.mle.lint.order import natural_ranks
from wmrl_gym.envs.mle.lint.statistics import persistence, separation
from wmrl_gym.envs.mle.task import Task

Change = Callable[[pd.DataFrame], pd.DataFrame]


def rows(count: int = 300, seed: int = 0) -> pd.DataFrame:
    """A number `y` and a label `label` that two of three features say something about."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, count))
    y = a + b + rng.normal(size=count)
    label = np.where(y > 0.5, "high", np.where(y < -0.5, "low", "middle"))
    ids = rng.permutation(count)
    return pd.DataFrame({"id": ids, "a": a, "b": b, "c": c, "y": y, "label": label})


def regression(place: Path, change: Change = lambda frame: frame, seed: int = 0) -> Task:
    frame = rows(seed=seed).drop(columns="label")
    return folder_task(place / "task", change(frame), metric="rmse", target="y")


def classification(place: Path, change: Change = lambda frame: frame, seed: int = 0) -> Task:
    frame = rows(seed=seed).drop(columns="y")
    return folder_task(place / "task", change(frame), metric="accuracy", target="label")


MAKERS = (regression, classification)


def only(findings: list[Finding], rule: str, severity: Severity) -> str:
    """The message of the one finding there is."""
    assert [(finding.rule, finding.severity) for finding in findings] == [(rule, severity)], [
        *map(str, findings)
    ]
    return findings[0].message


# --- clean tasks ---


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(10))
def test_noise_raises_no_alarm(make: Callable[..., Task], seed: int, tmp_path: Path) -> None:
    assert lint(make(tmp_path, seed=seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", available_task_names())
def test_built_in_tasks_do_not_leak(name: str) -> None:
    found = [finding for finding in lint(load_task(name)) if finding.severity is not Severity.NOTE]
    assert found == []


def test_chance_alone_is_no_order() -> None:
    rng = np.random.default_rng(0)
    for count in (10, 30, 100, 1000):
        for _ in range(50):
            numbers, labels = rng.normal(size=count), rng.choice([*"aaab"], size=count)
            order = np.arange(count, dtype=float)
            for values in (numbers, labels):
                assert separation(order, values) == persistence(values) == 0


# --- ids and order ---


def sort_ids(frame: pd.DataFrame) -> pd.DataFrame:
    target = frame.columns[-1]
    return frame.assign(id=frame[target].rank(method="first").astype(int))


@pytest.mark.parametrize("make", MAKERS)
def test_ids_that_rise_with_the_target(make: Callable[..., Task], tmp_path: Path) -> None:
    found = lint(make(tmp_path, sort_ids))
    assert {(f.rule, f.severity) for f in found} == {("id-order", Severity.ERROR)}
    assert "'id'" in found[0].message


def test_test_rows_in_the_order_of_the_target(tmp_path: Path) -> None:
    def sort_test(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([frame[:180], frame[180:].sort_values("y")])

    message = only(lint(regression(tmp_path, sort_test)), "id-order", Severity.ERROR)
    assert message == ("the order of rows in test.csv separates values of 'y' (strength 1.00 of 1)")


def test_ids_that_hold_the_label(tmp_path: Path) -> None:
    def name(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(id=[f"{x}_{k}" for x, k in zip(frame.label, frame.id, strict=True)])

    found = lint(classification(tmp_path, name))
    assert {f.rule for f in found} == {"id-order"}
    assert all("'id'" in f.message and f.severity is Severity.ERROR for f in found)


def test_ids_in_blocks_of_one_label_without_any_trend(tmp_path: Path) -> None:
    """Ten blocks for each label in turn: no label comes first, but neighbours agree."""

    def blocks(frame: pd.DataFrame) -> pd.DataFrame:
        place = frame.groupby("label").cumcount() // 9
        order = pd.Series(list(zip(place, frame["label"], strict=True)), index=frame.index)
        return frame.assign(id=order.rank(method="first").astype(int))

    found = lint(classification(tmp_path, blocks))
    assert {f.rule for f in found} == {"id-order"}
    assert any("groups values of 'label'" in f.message for f in found)


def test_an_order_that_a_feature_shows_is_no_leak(tmp_path: Path) -> None:
    def by_day(frame: pd.DataFrame) -> pd.DataFrame:
        ordered = sort_ids(frame)
        return ordered.assign(a=ordered["id"] * 0.5, c=ordered["c"])

    rules = {finding.rule for finding in lint(regression(tmp_path, by_day))}
    assert "id-order" not in rules


def test_natural_order() -> None:
    assert natural_ranks(["row-10", "row-2", "row-2", "7", "row-2b"]).tolist() == [4, 2, 2, 1, 3]


def test_separation_by_hand() -> None:
    order = np.arange(40.0)
    labels = np.array(["a"] * 30 + ["b"] * 10)
    assert separation(order, labels) == 1  # all of b come last
    assert separation(order, order**3) == 1
    swapped = labels[[*range(29), 30, 29, *range(31, 40)]]
    # One of 300 pairs is the wrong way round, which takes 2/300 of the difference.
    assert separation(order, swapped) == pytest.approx(1 - 2 / 300)


def test_persistence_by_hand() -> None:
    labels = np.array(["a"] * 50 + ["b"] * 50)
    # 98 of 99 neighbours agree where chance gives a half; what permutations give is taken off.
    assert persistence(labels) == pytest.approx((98 / 99 - 0.5) / 0.5, abs=0.03)
    assert persistence(np.array(["a", "b"])) == 0


# --- rows ---


def repeat(count: int) -> Change:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        """The features of the first test rows are those of the first training rows."""
        frame = frame.copy()
        features = [*"abc"]
        frame.loc[180 : 179 + count, features] = frame.loc[: count - 1, features].to_numpy()
        return frame

    return change


def test_a_repeated_row_is_noted(tmp_path: Path) -> None:
    task = regression(tmp_path, repeat(1))
    message = only(lint(task), "duplicate-rows", Severity.NOTE)
    assert message.startswith("1 of 120 rows of test.csv (0.8%)")
    assert "answer for 0% of them" in message
    first = pd.read_csv(task.public / "test.csv")["id"][0]
    assert message.endswith(f"first id: '{first}'")


def test_repeated_rows_with_other_answers_are_a_warning(tmp_path: Path) -> None:
    only(lint(regression(tmp_path, repeat(30))), "duplicate-rows", Severity.WARNING)


def test_repeated_rows_with_the_answers_are_an_error(tmp_path: Path) -> None:
    def copy(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.copy()
        frame.loc[180:209, [*"abcy"]] = frame.loc[:29, [*"abcy"]].to_numpy()
        return frame

    message = only(lint(regression(tmp_path, copy)), "duplicate-rows", Severity.ERROR)
    assert message.startswith("30 of 120 rows")
    assert "answer for 100% of them" in message


# --- columns ---


@pytest.mark.parametrize(
    ("make", "leak", "how"),
    [
        (regression, lambda f: f["y"], "is equal to"),
        (regression, lambda f: 32 - 1.8 * f["y"], "rises or falls with"),
        (regression, lambda f: np.exp(f["y"]).round(4), "rises or falls with"),
        (regression, lambda f: np.where(f["y"] > 0, f["y"], 100 - f["y"]), "alone is enough"),
        (classification, lambda f: f["label"], "is equal to"),
        (
            classification,
            lambda f: f["label"].map({"high": 7, "low": 3, "middle": 5}),
            "has one value",
        ),
        (
            classification,
            lambda f: f["label"] + (f["a"] > 0).map({True: "-x", False: "-y"}),
            "alone is enough to tell 'label'",
        ),
        (
            classification,
            lambda f: f["label"].map({"high": 9.0, "low": 1.0, "middle": 5.0}) + f["a"] / 10,
            "alone is enough to tell",
        ),
    ],
)
def test_a_column_that_is_the_target(
    make: Callable[..., Task], leak: Callable[[pd.DataFrame], Any], how: str, tmp_path: Path
) -> None:
    task = make(tmp_path, lambda f: f.assign(leak=leak(f))[["id", "leak", *f.columns[1:]]])
    message = only(lint(task), "target-column", Severity.ERROR)
    assert message.startswith(f"column 'leak' {how}")


def test_a_column_that_nearly_is_the_target_is_a_warning(tmp_path: Path) -> None:
    def almost(frame: pd.DataFrame) -> pd.DataFrame:
        noise = np.random.default_rng(1).normal(size=len(frame)) * 0.25
        return frame.assign(a=frame["y"] + noise)

    message = only(lint(regression(tmp_path, almost)), "target-column", Severity.WARNING)
    assert message.startswith("column 'a' alone takes away 95% or more of the error on 'y'")


def test_a_strong_column_is_no_leak(tmp_path: Path) -> None:
    def strong(frame: pd.DataFrame) -> pd.DataFrame:
        noise = np.random.default_rng(1).normal(size=len(frame)) * 0.8
        return frame.assign(a=frame["y"] + noise)

    assert lint(regression(tmp_path, strong)) == []


def test_few_rows_prove_nothing(tmp_path: Path) -> None:
    frame = rows(20).drop(columns="y").assign(label=[*"aaaab"] * 4)
    frame["c"] = frame["label"]
    task = folder_task(tmp_path / "task", frame, metric="accuracy", target="label")
    assert lint(task) == []


def test_columns_that_say_nothing_are_noted(tmp_path: Path) -> None:
    def pad(frame: pd.DataFrame) -> pd.DataFrame:
        codes = [f"k{number}" for number in np.random.default_rng(5).permutation(len(frame))]
        return frame.assign(b=1, c=codes)

    notes = {f.rule: f.message for f in lint(regression(tmp_path, pad))}
    assert notes == {
        "constant-column": "columns without variation: 'b'",
        "id-like-column": "columns that differ in every row, as an id does: 'c'",
    }


def test_explained_by_hand() -> None:
    # Nearest training values: 1 -> a, 9 -> b, 10 -> b, so one of three wrong answers is left;
    # the most frequent label, b, is wrong twice.
    feature = (np.array([0.0, 10.0, 11.0]), np.array([1.0, 9.0, 10.0]))
    target = (np.array([*"abb"]), np.array([*"aab"]))
    assert explained(feature, target) == pytest.approx(1 - (1 / 3) / (2 / 3))
    # Group means 1 and 4 for answers 1 and 6, whose squared errors are 0 and 4; the mean 2 has
    # 1 and 16.
    feature = (np.array(["x", "x", "y"]), np.array(["x", "y"]))
    assert explained(feature, (np.array([0.0, 2.0, 4.0]), np.array([1.0, 6.0]))) == pytest.approx(
        1 - 4 / 17
    )


def test_one_to_one_by_hand() -> None:
    a = np.array([*"aabc"])
    assert one_to_one(a, np.array([2.0, 2.0, 1.0, 3.0]))
    assert not one_to_one(a, np.array([2.0, 2.0, 1.0, 1.0]))
    assert not one_to_one(a, np.array([2.0, 4.0, 1.0, 3.0]))


# --- files ---


def foreign(place: Path) -> DirectoryTask:
    """A task of another benchmark: answers are a copy of the test rows with the target."""
    frame = rows().drop(columns="label").rename(columns={"id": "key"})
    public, private = place / "public", place / "private"
    public.mkdir()
    private.mkdir()
    frame[:180].to_csv(public / "train.csv", index=False)
    frame[180:].drop(columns="y").to_csv(public / "test.csv", index=False)
    sample = frame[180:][["key"]].assign(y=0.5)
    sample.to_csv(public / "sample_submission.csv", index=False)
    frame[180:].to_csv(private / "test.csv", index=False)
    files = {"given-answers.csv": private / "test.csv", "grade.py": private / "test.csv"}
    files["given-sample.csv"] = public / "sample_submission.csv"
    return DirectoryTask(public, files, {"answers": "given-answers.csv"})


def test_tasks_of_other_benchmarks_are_read(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    assert lint(task) == []
    train = pd.read_csv(task.public / "train.csv")
    train.assign(a=2 * train["y"]).to_csv(task.public / "train.csv", index=False)
    test, answers = (
        pd.read_csv(p) for p in (task.public / "test.csv", task.files["given-answers.csv"])
    )
    test.assign(a=2 * answers["y"]).to_csv(task.public / "test.csv", index=False)
    only(lint(task), "target-column", Severity.ERROR)


@pytest.mark.parametrize("name", ["leaderboard/old.csv", "readme.txt"])
def test_answers_under_another_name_are_found(name: str, tmp_path: Path) -> None:
    task = foreign(tmp_path)
    (task.public / name).parent.mkdir(exist_ok=True)
    (task.public / name).write_bytes(task.files["given-answers.csv"].read_bytes())
    found = lint(task)
    assert {(f.rule, f.severity) for f in found} == {("public-answers", Severity.ERROR)}
    assert f"public file '{name}' is the grader's file 'given-answers.csv'" in {
        f.message for f in found
    }


def test_answers_in_another_table_are_found(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    answers = pd.read_csv(task.files["given-answers.csv"])
    told = answers[["key", "y"]].rename(columns={"y": "gold"}).sort_values("key")
    told.to_csv(task.public / "solutions.csv", index=False)
    message = only(lint(task), "public-answers", Severity.ERROR)
    assert message == (
        "public file 'solutions.csv' has the answers for 'y' of 120 test rows in column 'gold'"
    )


def test_training_rows_that_are_test_rows_are_found(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    train, answers = (
        pd.read_csv(p) for p in (task.public / "train.csv", task.files["given-answers.csv"])
    )
    pd.concat([train, answers]).to_csv(task.public / "train.csv", index=False)
    found = {f.rule: str(f) for f in lint(task)}
    assert set(found) == {"public-answers", "duplicate-rows"}
    assert "'train.csv' has the answers for 'y' of 120 test rows" in found["public-answers"]
    assert "120 of 120 rows" in found["duplicate-rows"]


def test_a_target_in_the_test_file_is_found(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    answers = pd.read_csv(task.files["given-answers.csv"])
    answers.to_csv(task.public / "test.csv", index=False)
    answers[["key", "y"]].to_csv(tmp_path / "private" / "test.csv", index=False)
    found = {f.rule: f for f in lint(task)}
    assert found["target-in-test"].message == "test.csv has the target columns 'y'"
    assert found["target-in-test"].severity is Severity.ERROR


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    (task.public / "train.csv").unlink()
    only(lint(task), "not-read", Severity.NOTE)


def test_answers_in_a_data_directory_are_read(tmp_path: Path) -> None:
    task = foreign(tmp_path)
    (task.public / "copy.bin").write_bytes(task.files["given-answers.csv"].read_bytes())
    moved = DirectoryTask(
        task.public,
        rules={"answers": "../of-answers/test.csv"},
        data={"of-answers": tmp_path / "private"},
    )
    only(lint(moved), "public-answers", Severity.ERROR)


# --- the command ---


def test_the_command_prints_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regression(tmp_path)
    run(["tasks", "lint", str(tmp_path / "task"), "wine-cultivar"])
    said = capsys.readouterr().out
    assert said == f"{tmp_path / 'task'}: nothing found\nwine-cultivar: nothing found\n"


def test_the_command_fails_on_a_leak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regression(tmp_path, sort_ids)
    with pytest.raises(SystemExit) as stopped:
        run(["tasks", "lint", str(tmp_path / "task")])
    assert stopped.value.code == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{tmp_path / 'task'}:"
    assert said[1].startswith("  error: the order of 'id' in test.csv separates values of 'y'")
    assert said[1].endswith("[id-order]")
