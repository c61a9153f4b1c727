"""Reading, sampling and dividing tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.toy_task import toy_task
from wmrl_gym.envs.mle.prepare import prepare
from wmrl_gym.envs.mle.splitting import split, table
from wmrl_gym.errors import TaskError


def test_rows_with_equal_features_stay_together(tmp_path: Path) -> None:
    x = np.repeat(np.arange(100), 3)
    task = toy_task(tmp_path, pd.DataFrame({"x": x, "y": np.arange(300) % 7}))
    train, test = split(task, table(task))
    assert not set(train["x"]) & set(test["x"])
    assert pd.concat([train, test])["id"].is_unique


def test_repeated_rows_and_rows_without_target_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 1, 1, 2, 3], "y": [5.0, 5.0, 6.0, None, 7.0]})
    assert table(toy_task(tmp_path, frame)).to_dict("list") == {
        "x": [1, 1, 3],
        "y": [5.0, 6.0, 7.0],
    }


def test_ids_do_not_depend_on_the_target(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(50), "y": range(50)})
    one, other = ((tmp_path / name) for name in ("one", "other"))
    ids = []
    for directory, y in ((one, frame["y"]), (other, -frame["y"])):
        directory.mkdir()
        task = toy_task(directory, frame.assign(y=y))
        ids.append(pd.concat(split(task, table(task))).set_index("x")["id"].sort_index())
    assert ids[0].equals(ids[1])


def test_a_column_that_the_data_lack_is_named(tmp_path: Path) -> None:
    task = toy_task(tmp_path, pd.DataFrame({"x": [1], "y": [1]}), columns={"width": "a width"})
    with pytest.raises(TaskError, match="no columns \\['width'\\]"):
        prepare(task)


def test_a_label_outside_the_classes_is_named(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": ["no", "perhaps"]})
    task = toy_task(tmp_path, frame, kind="binary", metric="accuracy", classes=("no", "yes"))
    with pytest.raises(TaskError, match="'perhaps'"):
        prepare(task)


# --- sampling ---


def test_a_sample_has_as_many_rows_and_every_class(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(1000), "y": ["rare", *["a", "b"] * 499, "c"]})
    labels = {"metric": "accuracy", "kind": "multiclass", "classes": ("a", "b", "c", "rare")}
    sample = table(toy_task(tmp_path, frame, rows=50, **labels))
    assert len(sample) == 50
    assert set(sample["y"]) == {"a", "b", "c", "rare"}
    assert sample["x"].is_monotonic_increasing


def test_a_sample_is_drawn_by_the_name_of_the_task(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(1000), "y": range(1000)})
    drawn = [set(table(toy_task(tmp_path, frame, rows=50, name=name))["x"]) for name in "aab"]
    assert drawn[0] == drawn[1] != drawn[2]


def test_fewer_rows_than_the_sample_are_all_kept(tmp_path: Path) -> None:
    assert len(table(toy_task(tmp_path, pd.DataFrame({"x": [1], "y": [2]}), rows=50))) == 1


def test_a_sample_of_given_parts_keeps_their_shares(tmp_path: Path) -> None:
    """Not so if the first row of each of many classes were kept: all are in one part."""
    classes = tuple(f"c{k:02d}" for k in range(40))
    part = ["test"] * 400 + ["train"] * 1600
    frame = pd.DataFrame({"x": range(2000), "y": [*classes] * 50, "part": part})
    labels = {"metric": "accuracy", "kind": "multiclass", "classes": classes}
    sample = table(toy_task(tmp_path, frame, rows=200, split_column="part", **labels))
    assert 20 < (sample["part"] == "test").sum() < 60


# --- parts ---


def test_given_parts_are_kept_and_the_public_answers_drawn_of_each_class(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "x": range(400),
            "y": ["yes" if k % 20 == 0 else "no" for k in range(400)],
            "part": ["train"] * 240 + ["test"] * 160,
        }
    )
    labels = {"metric": "roc_auc", "kind": "binary", "classes": ("no", "yes")}
    task = toy_task(tmp_path, frame, split_column="part", **labels)
    train, test = split(task, table(task))
    assert (set(train["x"]), set(test["x"])) == (set(range(240)), set(range(240, 400)))
    assert "part" not in train
    counts = test.groupby("Usage")["y"].value_counts().to_dict()
    assert counts == {
        **{("Public", "no"): 38, ("Public", "yes"): 2},
        **{("Private", "no"): 114, ("Private", "yes"): 6},
    }


def test_a_time_split_has_the_public_answers_in_the_middle(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": range(100), "y": np.arange(100) % 7})
    task = toy_task(tmp_path, frame, time_column="day")
    train, test = split(task, table(task))
    days = test.groupby("Usage")["day"].agg(["min", "max"])
    assert train["day"].max() == 59
    assert days.loc["Public"].tolist() == [60, 69]
    assert days.loc["Private"].tolist() == [70, 99]


def test_a_survival_is_drawn_by_its_events(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(200), "time": range(200), "event": [1, 0, 0, 0] * 50})
    task = toy_task(
        tmp_path, frame, kind="survival", metric="concordance", targets=("time", "event")
    )
    train, test = split(task, table(task))
    assert (train["event"].sum(), test["event"].sum()) == (30, 20)
    assert test[test["Usage"] == "Private"]["event"].sum() == 15
