"""Plain folders become tasks, and what is wrong with them is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.written_task import write_folder
from wmrl_gym.envs.mle.catalog import load_task, load_tasks
from wmrl_gym.envs.mle.grading import grade
from wmrl_gym.envs.mle.importers import folder
from wmrl_gym.envs.mle.importers.layouts import ImportOptions
from wmrl_gym.envs.mle.importers.task_file import read_file, to_toml
from wmrl_gym.envs.mle.pipeline_env import MLEPipelineEnv
from wmrl_gym.envs.mle.scoring import position
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Status


def frames(target: str = "y", ids: str = "id") -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Six training rows and four test rows: `y` is twice `a`, `label` says whether it is big."""
    rows = pd.DataFrame({ids: [f"r-{k:02}" for k in range(10)], "a": np.arange(10) / 4})
    rows["word"] = [*"xyxyxyxyxy"]
    rows["y"] = 2 * rows["a"]
    rows["label"] = np.where(rows["a"] % 0.5 == 0, "big", "small")
    rows["stars"] = [1, 2, 3, 10, 1, 2, 3, 10, 1, 2]
    kept = rows[[ids, "a", "word", target]]
    return kept[:6], kept[6:].drop(columns=target), kept[6:][[ids, target]]


def make(place: Path, target: str = "y", metric: str = "rmse", **fields: Any) -> TableTask:
    directory = write_folder(
        place / "my-task", *frames(target), metric=metric, target=target, **fields
    )
    return folder.load(directory, "my-task")


def refused(place: Path, *, target: str = "y", metric: str = "rmse", **fields: Any) -> str:
    """The message of the error."""
    with pytest.raises(TaskError) as caught:
        make(place, target, metric, **fields).public  # noqa: B018  # reads the tables
    return str(caught.value)


# --- what becomes of a folder ---


def test_the_files_stay_as_they_are(tmp_path: Path) -> None:
    train, test, answers = frames()
    task = make(tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(task.public / "train.csv"), train)
    shown = pd.read_csv(task.public / "test.csv")
    pd.testing.assert_frame_equal(shown, test.reset_index(drop=True))
    hidden = pd.read_csv(task.private / "test.csv")
    pd.testing.assert_frame_equal(hidden[["id", "y"]], answers.reset_index(drop=True))
    assert sorted(hidden["Usage"]) == ["Private"] * 3 + ["Public"]


def test_cells_are_not_rewritten(tmp_path: Path) -> None:
    directory = write_folder(tmp_path / "task", *frames(), metric="rmse", target="y")
    (directory / "train.csv").write_text('id,a,word,y\n007,1.10,NA,1e0\n1_0,,"a,b",-2\n')
    (directory / "test.csv").write_text("id,a,word\n0x1,0010,\n01,+1,null\n1,2,None\n001,2,x\n")
    (directory / "answers.csv").write_text("id,y\n001,4\n1,3\n01,2\n0x1,1\n")
    task = folder.load(directory, "cells")
    assert (task.public / "train.csv").read_text() == (
        'id,a,word,y\n007,1.10,NA,1.0\n1_0,,"a,b",-2.0\n'
    )
    assert (task.public / "test.csv").read_text() == (
        "id,a,word\n0x1,0010,\n01,+1,null\n1,2,None\n001,2,x\n"
    )
    hidden = pd.read_csv(task.private / "test.csv", dtype={"id": str})
    assert hidden["id"].tolist() == ["0x1", "01", "1", "001"]
    assert hidden["y"].tolist() == [1, 2, 3, 4]


def test_usage_of_the_answers_is_kept(tmp_path: Path) -> None:
    train, test, answers = frames()
    answers["Usage"] = ["Public", "Private", "Public", "Private"]
    directory = write_folder(tmp_path / "task", train, test, answers, metric="mae", target="y")
    task = folder.load(directory, "usage")
    submission = test[["id"]].assign(y=answers["y"].to_numpy() + np.arange(1, 5))
    graded = grade(task, submission.to_csv(index=False).encode())
    assert (graded.public_metric, graded.metric, graded.metric_all) == (2, 3, 2.5)


def test_the_draw_of_public_answers_does_not_depend_on_the_place(tmp_path: Path) -> None:
    usages = []
    for name in ("one", "two"):
        task = make(tmp_path / name)
        usages.append(pd.read_csv(task.private / "test.csv")["Usage"].tolist())
    assert usages[0] == usages[1]


def test_training_rows_need_no_ids(tmp_path: Path) -> None:
    train, test, answers = frames()
    without = train.drop(columns="id")
    directory = write_folder(tmp_path / "t", without, test, answers, metric="rmse", target="y")
    written = pd.read_csv(folder.load(directory, "t").public / "train.csv")
    assert written["id"].tolist() == [f"train-{row}" for row in range(1, 7)]


def test_an_own_sample_submission_is_replaced(tmp_path: Path) -> None:
    directory = tmp_path / "my-task"
    write_folder(directory, *frames("label"), metric="log_loss", target="label")
    (directory / "sample_submission.csv").write_text("nothing,of,use\n")
    sample = pd.read_csv(folder.load(directory, "s").public / "sample_submission.csv")
    assert list(sample) == ["id", "big", "small"]


@pytest.mark.parametrize("suffix", ["toml", "yaml", "yml", "json"])
def test_every_format_says_the_same(suffix: str, tmp_path: Path) -> None:
    directory = write_folder(
        tmp_path / "task", *frames("label"), metric="roc_auc", target="label", title="Big or not"
    )
    texts = {
        "toml": 'metric = "accuracy"\ntarget = "label"\nclasses = ["small", "big"]\n'
        "[references]\ndummy = 0.5\n",
        "yaml": "metric: accuracy\ntarget: label\nclasses: [small, big]\n"
        "references: {dummy: 0.5}\n",
        "json": json.dumps(
            {
                "metric": "accuracy",
                "target": "label",
                "classes": ["small", "big"],
                "references": {"dummy": 0.5},
            }
        ),
    }
    (directory / "task.toml").unlink()
    (directory / f"task.{suffix}").write_text(texts[suffix.replace("yml", "yaml")])
    task = folder.load(directory, "format")
    assert (task.metric, task.classes, dict(task.references)) == (
        "accuracy",
        ("small", "big"),
        {"dummy": 0.5},
    )


def test_a_description_survives_being_written(tmp_path: Path) -> None:
    fields = {
        "title": 'A "title" with \\ and é',
        "about": 'lines\n\nwith """ and \\n and \t and \x7f\nend\\',
        "metric": "rmse",
        "targets": ["a", 'b"'],
        "columns": {"x.y": "dotted", "z w": ""},
        "references": {"dummy": 1.5, "good": 1e-9},
        "timeout_s": 30,
    }
    (tmp_path / "task.toml").write_text(to_toml(fields), encoding="utf-8")
    assert read_file(tmp_path / "task.toml") == fields


# --- inference ---


@pytest.mark.parametrize(
    ("target", "metric", "kind", "classes"),
    [
        ("y", "rmse", "regression", ()),
        ("stars", "mae", "regression", ()),
        ("label", "roc_auc", "binary", ("big", "small")),
        ("label", "accuracy", "binary", ("big", "small")),
        ("stars", "log_loss", "multiclass", ("1", "2", "3", "10")),
        ("stars", "qwk", "multiclass", ("1", "2", "3", "10")),
    ],
)
def test_kind_and_classes(
    target: str, metric: str, kind: str, classes: tuple[str, ...], tmp_path: Path
) -> None:
    task = make(tmp_path, target, metric)
    assert (task.kind, task.classes) == (kind, classes)
    assert {path.name for path in task.public.iterdir()} >= {"train.csv", "test.csv"}


def test_other_defaults(tmp_path: Path) -> None:
    task = make(tmp_path)
    assert (task.title, task.tags, task.timeout_s) == ("My task", ("tabular",), 60)
    (tmp_path / "my-task" / "description.md").write_text("What it is about.")
    assert "What it is about." in folder.load(tmp_path / "my-task", "x").description


def test_labels_with_a_fraction_are_whole(tmp_path: Path) -> None:
    """pandas writes whole numbers as 1.0 wherever a column had a gap."""
    train, test, answers = frames("stars")
    train = train.assign(stars=train["stars"].astype(float))
    directory = write_folder(tmp_path / "t", train, test, answers, metric="qwk", target="stars")
    assert folder.load(directory, "t").classes == ("1", "2", "3", "10")


def test_the_id_column_is_the_one_that_is_shared(tmp_path: Path) -> None:
    directory = write_folder(tmp_path / "t", *frames(ids="key"), metric="rmse", target="y")
    assert folder.load(directory, "t").id_column == "key"


@pytest.mark.parametrize(
    ("metric", "kind", "targets"),
    [("mean_roc_auc", "multilabel", ["u", "v"]), ("concordance", "survival", ["time", "event"])],
)
def test_kinds_with_two_targets(metric: str, kind: str, targets: list[str], tmp_path: Path) -> None:
    rows = pd.DataFrame({"id": range(20), "a": range(20), targets[1]: [0, 0, 1, 1, 1] * 4})
    rows[targets[0]] = range(20) if kind == "survival" else [0, 1, 1, 0] * 5
    test = rows[10:]
    directory = write_folder(
        tmp_path / "t",
        rows[:10],
        test.drop(columns=targets),
        test[["id", *targets]].assign(Usage=["Public"] * 5 + ["Private"] * 5),
        metric=metric,
        targets=targets,
    )
    task = folder.load(directory, "t")
    assert task.kind == kind
    sample = (task.public / "sample_submission.csv").read_bytes()
    assert grade(task, sample).status is Status.COMPLETED


# --- references ---


def test_the_sample_submission_is_the_reference_of_a_task_without(tmp_path: Path) -> None:
    train, test, answers = frames("stars")
    answers["Usage"] = "Private"
    directory = write_folder(tmp_path / "t", train, test, answers, metric="mae", target="stars")
    task = folder.load(directory, "t")
    # The sample says 3.1667, the mean of training; answers are 3, 10, 1 and 2.
    assert task.references == {"sample_submission": pytest.approx(2.5834, abs=2e-4)}
    assert position(task, task.references["sample_submission"]) == 0
    assert position(task, 0.0) == 1
    kept = task.public.parent.parent / "sample_reference.json"
    kept.write_text("7.0")  # another process finds what this one has kept
    assert folder.load(directory, "t").references["sample_submission"] == 7


def test_loading_grades_nothing(tmp_path: Path) -> None:
    task = make(tmp_path)
    assert task.version
    assert "_metric" not in vars(task.references)


# --- as a task ---


def test_it_is_a_task_by_its_path(tmp_path: Path) -> None:
    directory = write_folder(tmp_path / "my-task", *frames(), metric="rmse", target="y")
    (task,) = load_tasks(str(directory))
    assert task.name == str(directory)
    assert load_task(task.name) is task


def test_a_directory_of_folders_is_several_tasks(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_folder(tmp_path / name, *frames(), metric="rmse", target="y")
    (tmp_path / "other").mkdir()
    found = folder.find(tmp_path, ImportOptions())
    assert list(found) == ["one", "two"]
    assert [task.title for task in load_tasks(str(tmp_path))] == ["One", "Two"]


def test_the_pipeline_environment_takes_it(tmp_path: Path) -> None:
    train, test, answers = frames()
    more = pd.concat([train] * 5, ignore_index=True)
    more["a"] += np.arange(len(more)) / 100
    directory = write_folder(tmp_path / "t", more, test, answers, metric="rmse", target="y")
    env = MLEPipelineEnv(task=str(directory))
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, dtype=int)
    info = env.step(action)[4]
    assert info["status"] == Status.COMPLETED
    env.close()


def test_a_moved_folder_scores_the_same(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", *frames(), metric="rmse", target="y")
    before = folder.load(tmp_path / "one", "name").version
    shutil.move(tmp_path / "one", tmp_path / "two")
    assert folder.load(tmp_path / "two", "name").version != ""
    (tmp_path / "two" / "task.toml").write_text('metric = "rmse"\ntarget = "y"\ntitle = "One"\n')
    assert folder.load(tmp_path / "two", "name").version == before


# --- wrong folders ---


def test_a_directory_that_is_none_says_what_is_missing(tmp_path: Path) -> None:
    assert folder.find(tmp_path, ImportOptions()) == (
        "no file train.csv, test.csv, answers.csv, task.toml (or task.yaml, task.yml, task.json)"
    )
    (tmp_path / "train.csv").touch()
    (tmp_path / "task.yaml").touch()
    assert folder.find(tmp_path, ImportOptions()) == "no file test.csv, answers.csv"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"metric": "rsme"}, "field metric='rsme' has to be one of accuracy"),
        ({"metric": "roc_auc"}, "kind='binary' does not go with 10 classes"),
        (
            {"target": "z"},
            "target=['z'] is no column of train.csv, which has ['id', 'a', 'word', 'y']",
        ),
        ({"kind": "ranking"}, "field kind='ranking' has to be one of binary, multiclass"),
        ({"kind": "binary"}, "kind='binary' has to be one of ['regression'] for metric='rmse'"),
        ({"classes": ["a"]}, "classes=['a'] have no meaning for kind='regression'"),
        ({"id_column": "key"}, "id_column='key' is no column of test.csv: ['id', 'a', 'word']"),
        ({"time_column": "t"}, "time_column=['t'] are no feature columns; there are ['a', 'word']"),
        ({"columns": {"b": "?"}}, "columns=['b'] are no feature columns; there are ['a', 'word']"),
        ({"licnece": "MIT"}, "field 'licnece' is unknown; did you mean 'licence'?"),
        ({"zzz": 1}, "field 'zzz' is unknown; there are title, about, metric"),
        ({"title": 3}, "field title=3 has to be text"),
        ({"timeout_s": -1}, "field timeout_s=-1 has to be a positive number of seconds"),
        ({"timeout_s": True}, "field timeout_s=True has to be a positive number of seconds"),
        ({"references": {"x": "y"}}, "has to be a table from names of solutions to metrics"),
        ({"tags": "one"}, "field tags='one' has to be a list of words"),
        ({"classes": [True, False]}, "put words such as yes and true in quotes"),
        ({"targets": ["y"]}, "has to have one of the fields 'target' and 'targets'"),
        ({"metric": None}, "no field 'metric'"),
        ({"metric": ["rmse"]}, "field metric=['rmse'] has to be one of"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    directory = write_folder(tmp_path / "task", *frames(), metric="rmse", target="y")
    (directory / "task.toml").unlink()
    all_fields = {"metric": "rmse", "target": "y", **fields}
    written = {name: value for name, value in all_fields.items() if value is not None}
    (directory / "task.json").write_text(json.dumps(written))
    with pytest.raises(TaskError) as caught:
        folder.load(directory, "wrong")
    assert message in str(caught.value)
    assert str(directory) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("task.toml", "metric = ", "cannot be read"),
        ("task.yaml", "metric: [", "cannot be read"),
        ("task.json", "{", "cannot be read"),
        ("task.yaml", "", "holds no fields"),
        ("task.yaml", "- metric\n- target\n", "holds no fields"),
    ],
)
def test_a_description_that_cannot_be_read(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    directory = write_folder(tmp_path / "task", *frames(), metric="rmse", target="y")
    (directory / "task.toml").unlink()
    (directory / name).write_text(content)
    with pytest.raises(TaskError, match=message):
        folder.load(directory, "wrong")


def test_two_descriptions_are_one_too_many(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "my-task" / "task.yaml").touch()
    with pytest.raises(TaskError, match=r"task\.toml and task\.yaml; keep one of them"):
        folder.load(tmp_path / "my-task", "two")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("train", "id,a,word,y\n1,1,x,\n2,1,x,3\n", "train.csv has 1 rows without a value"),
        ("train", "id,a,word,y\n1,1,x,good\n", "not a finite number: ['good']"),
        ("train", "id,a,word,y\n1,1,x,inf\n2,1,x,1_0\n", "['inf', '1_0']"),
        ("train", "id,a,y\n1,1,2\n", "the columns ['word'] are in only one of"),
        ("train", "id,a,a,word,y\n1,1,1,x,2\n", "a header with names that differ"),
        ("train", "", "a header with names that differ"),
        ("test", "id,a,word,y\n", "test.csv has the target columns ['y']"),
        ("test", "id\nr-06\n", "are in only one of"),
        ("test", "id,a,word\nr-06,1,x\nr-06,1,x\n", "test.csv has ids in column 'id' more than"),
        ("test", "id,a,word\nr-06,1,x\n", "test.csv lacks 3 ids that answers.csv has: ['r-07'"),
        ("test", "id,a,word\n,1,x\n", "test.csv has rows without an id"),
        ("answers", "id,y\nr-06,1\n", "answers.csv lacks 3 ids that test.csv has: ['r-07'"),
        ("answers", "id,y\nr-06,1\nr-07,1\nr-08,1\nr-09,\n", "answers.csv has 1 rows without"),
        ("answers", "key,y\n1,1\n", "share the columns [], not one; set id_column"),
        (
            "answers",
            "id,y,Usage\nr-06,1,public\nr-07,1,Private\nr-08,1,Private\nr-09,1,Private\n",
            "Usage has to be Public or Private, not ['public']",
        ),
        (
            "answers",
            "id,y,Usage\nr-06,1,Public\nr-07,1,Public\nr-08,1,Public\nr-09,1,Public\n",
            "Usage is Private in no row",
        ),
    ],
)
def test_wrong_tables(file: str, content: str, message: str, tmp_path: Path) -> None:
    directory = write_folder(tmp_path / "task", *frames(), metric="rmse", target="y")
    (directory / f"{file}.csv").write_text(content)
    with pytest.raises(TaskError) as caught:
        folder.load(directory, "wrong").public  # noqa: B018  # reads the tables
    assert message in str(caught.value)


def test_several_shared_columns_need_an_id_column(tmp_path: Path) -> None:
    train, test, answers = frames(ids="key")
    answers["a"] = test["a"]
    directory = write_folder(tmp_path / "t", train, test, answers, metric="rmse", target="y")
    with pytest.raises(TaskError, match=r"share the columns .'key', 'a'., not one"):
        folder.load(directory, "t")


def test_labels_without_an_order_cannot_be_ranked(tmp_path: Path) -> None:
    assert "give classes=[...] with the labels ['big', 'small']" in refused(
        tmp_path, target="label", metric="qwk"
    )


def test_a_label_outside_classes_is_named(tmp_path: Path) -> None:
    message = refused(tmp_path, target="label", metric="accuracy", classes=["big", "Small"])
    assert "labels ['small'] outside classes" in message


def test_negative_targets_of_a_logarithmic_metric(tmp_path: Path) -> None:
    train, test, answers = frames()
    train = train.assign(y=train["y"] - 1)
    directory = write_folder(tmp_path / "t", train, test, answers, metric="rmsle", target="y")
    with pytest.raises(TaskError, match="not a number from 0 on: "):
        folder.load(directory, "t").public  # noqa: B018  # reads the tables


def test_a_directory_here_needs_no_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "mine")
    make(tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    assert [task.name for task in load_tasks("mine")] == [str(tmp_path / "mine")]
    assert [task.name for task in load_tasks("digits")] == ["digits"]  # a built-in task comes first
