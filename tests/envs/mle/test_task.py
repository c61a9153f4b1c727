"""What a task says about itself."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.envs.mle.toy_task import toy_task
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 5, "w": list("aabc") * 5, "y": range(20)})


@pytest.fixture(params=task_names())
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


def test_the_description_tells_what_a_solver_needs(task: Task) -> None:
    text = task.description
    said = [task.title, task.about.strip(), task.target_about, task.licence, task.origin]
    assert all(part in text for part in (*said, *task.columns, *task.columns.values()))
    assert f"\n{','.join(task.submission_columns)}\n" in text
    assert ("higher is better" in text) != ("lower is better" in text)


@pytest.mark.parametrize(
    ("name", "columns", "rule"),
    [
        ("diabetes", ("id", "progression"), "the predicted number."),
        ("abalone", ("id", "rings"), "must not be negative"),
        ("digits", ("id", "digit"), "the predicted class"),
        ("penguin-sex", ("id", "sex"), "of the class `male`"),
        ("breast-cancer", ("id", "benign", "malignant"), "divided by their sum"),
    ],
)
def test_the_submission_follows_the_metric(name: str, columns: tuple[str, ...], rule: str) -> None:
    task = load_task(name)
    assert task.submission_columns == columns
    assert rule in task.description


def test_features_are_finite_and_bounded_and_the_same_for_all(task: Task) -> None:
    features = task.features()
    assert list(features) == list(load_task("digits").features())
    assert all(type(value) is float for value in features.values())
    assert all(math.isfinite(value) and -5 <= value <= 5 for value in features.values())


def test_features_tell_the_tasks_apart() -> None:
    described = {tuple(load_task(name).features().values()) for name in task_names()}
    assert len(described) == len(task_names())


def test_features_of_a_small_table(tmp_path: Path) -> None:
    frame = FRAME.assign(x=[*FRAME["x"][:19], None], z=range(20))
    features = toy_task(tmp_path, frame, name="small").features()
    train = pd.read_csv(toy_task(tmp_path, frame, name="small").public / "train.csv")
    assert features["log10_rows"] == pytest.approx(math.log10(len(train)))
    assert features["log10_columns"] == pytest.approx(math.log10(3))
    assert features["share_categorical"] == pytest.approx(1 / 3)
    assert features["log10_max_cardinality"] == pytest.approx(math.log10(3))
    assert features["share_missing"] == pytest.approx(
        train.isna().to_numpy().sum() / len(train) / 3
    )
    assert (features["is_regression"], features["is_binary"]) == (1.0, 0.0)
    assert features["lower_is_better"] == 1.0


def test_class_balance_is_one_for_equal_classes_and_less_otherwise() -> None:
    assert load_task("image-segments").features()["class_balance"] > 0.99
    assert load_task("seattle-weather").features()["class_balance"] < 0.8


def test_the_callers_dict_is_its_own(task: Task) -> None:
    task.features().clear()
    assert task.features()


def test_the_version_changes_with_data_metric_and_references(tmp_path: Path) -> None:
    versions = [
        toy_task(tmp_path, FRAME).version,
        toy_task(tmp_path, FRAME, metric="mae").version,
        toy_task(tmp_path, FRAME, references={"dummy": 3.0, "good": 1.0}).version,
        toy_task(tmp_path, FRAME.assign(y=0.5)).version,
    ]
    assert len(set(versions)) == 4
    assert toy_task(tmp_path, FRAME).version == toy_task(tmp_path, FRAME).version


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"metric": "r2"}, "metric='r2'"),
        ({"kind": "binary"}, "0 classes"),
        ({"kind": "multiclass", "classes": ("a", "b")}, "2 classes"),
        ({"classes": ("a", "b")}, "kind='regression'"),
    ],
)
def test_fields_that_contradict_each_other(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaskError, match=message):
        toy_task(tmp_path, FRAME, **fields)


def test_a_task_travels_between_processes(task: Task) -> None:
    there = pickle.loads(pickle.dumps(task))
    assert (there.name, there.version, there.public) == (task.name, task.version, task.public)
