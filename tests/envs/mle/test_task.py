"""What a task says about itself."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.envs.mle.toy_task import table_task, toy_task
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 5, "w": list("aabc") * 5, "y": range(20)})


@pytest.fixture(params=task_names())
def task(request: pytest.FixtureRequest) -> TableTask:
    return table_task(request.param)


def test_the_description_tells_what_a_solver_needs(task: TableTask) -> None:
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
        ("fuel-economy", ("id", "city_mpg", "highway_mpg"), "Each target column holds"),
        ("recidivism", ("id", "risk"), "larger the earlier the event"),
    ],
)
def test_the_submission_follows_the_metric(name: str, columns: tuple[str, ...], rule: str) -> None:
    task = table_task(name)
    assert task.submission_columns == columns
    assert rule in task.description


def test_a_language_model_gives_one_probability_for_each_character() -> None:
    task = table_task("python-source")
    assert task.submission_columns == ("id", "9", *map(str, range(32, 127)))


def test_features_are_finite_and_bounded_and_the_same_for_all(task: TableTask) -> None:
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


def test_a_target_that_does_not_vary_has_no_skewness(tmp_path: Path) -> None:
    assert toy_task(tmp_path, FRAME.assign(y=1), name="same").features()["target_skew"] == 0.0


def test_class_balance_is_one_for_equal_classes_and_less_otherwise() -> None:
    assert load_task("image-segments").features()["class_balance"] > 0.99
    assert load_task("seattle-weather").features()["class_balance"] < 0.8


def test_several_targets_and_texts_are_told() -> None:
    features = load_task("film-genres").features()
    assert (features["log10_targets"], features["is_text"]) == (math.log10(8), 1.0)
    features = load_task("digits").features()
    assert (features["log10_targets"], features["is_text"]) == (0.0, 0.0)


def test_the_callers_dict_is_its_own() -> None:
    task = load_task("digits")
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
        ({"kind": "binary", "metric": "accuracy"}, "0 classes"),
        ({"kind": "multiclass", "metric": "accuracy", "classes": ("a", "b")}, "2 classes"),
        ({"classes": ("a", "b")}, "kind='regression'"),
        ({"metric": "accuracy"}, "metric='accuracy' does not go with kind='regression'; .*rmse"),
        ({"kind": "multilabel"}, "choose from \\['mean_roc_auc'\\]"),
        ({"kind": "survival", "metric": "concordance"}, "time and event"),
        (
            {"kind": "binary", "metric": "roc_auc", "classes": ("a", "b"), "targets": ("x", "y")},
            "have to be one column",
        ),
    ],
)
def test_fields_that_contradict_each_other(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaskError, match=message):
        toy_task(tmp_path, FRAME, **fields)


def test_the_target_of_a_task_with_two(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="2 targets"):
        _ = toy_task(tmp_path, FRAME, targets=("x", "y")).target


def test_a_task_travels_between_processes(task: TableTask) -> None:
    there = pickle.loads(pickle.dumps(task))
    assert (there.name, there.version) == (task.name, task.version)
