"""What preparation writes, and that nothing of the answers leaks into what is public."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.envs.mle.toy_task import toy_task
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.prepare import cache_directory, prepare
from wmrl_gym.envs.mle.splitting import split, table
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

SMALL = ("wine-cultivar", "seattle-weather", "auto-mpg")


@pytest.fixture(params=task_names())
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


def public_table(task: Task, name: str) -> pd.DataFrame:
    return pd.read_csv(task.public / name)


def answers(task: Task) -> pd.DataFrame:
    return pd.read_csv(task.private / "test.csv")


def files(directory: Path) -> dict[str, bytes]:
    paths = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


# --- layout ---


def test_files_have_the_shape_that_was_promised(task: Task) -> None:
    features = list(task.columns) or [
        c for c in public_table(task, "test.csv").columns if c != "id"
    ]
    assert {path.name for path in task.public.iterdir()} == {
        "train.csv",
        "test.csv",
        "sample_submission.csv",
        "description.md",
    }
    assert list(public_table(task, "train.csv")) == ["id", *features, task.target]
    assert list(public_table(task, "test.csv")) == ["id", *features]
    assert tuple(public_table(task, "sample_submission.csv")) == task.submission_columns
    assert list(answers(task)) == ["id", task.target]
    assert (task.public / "description.md").read_text(encoding="utf-8") == task.description


def test_nothing_of_the_data_is_lost(task: Task) -> None:
    train, test = split(task, table(task))
    assert len(train) + len(test) == len(table(task))
    assert 0.28 < len(test) / (len(train) + len(test)) < 0.32
    assert len(public_table(task, "train.csv")) == len(train)
    assert list(public_table(task, "test.csv")["id"]) == list(answers(task)["id"])


def test_both_parts_have_the_classes_in_the_same_shares(task: Task) -> None:
    if task.time_column is not None:
        return  # the future need not be like the past
    train, test = public_table(task, "train.csv")[task.target], answers(task)[task.target]
    if task.kind == "regression":
        assert stats.ks_2samp(train, test).pvalue > 0.05
    else:
        shares = [part.value_counts(normalize=True) for part in (train, test)]
        assert set(train.astype(str)) == set(test.astype(str)) == set(task.classes)
        assert (shares[0] - shares[1]).abs().max() < 0.05


@pytest.mark.parametrize("name", ["trump-approval", "seattle-weather"])
def test_a_time_split_hides_the_latest_rows(name: str) -> None:
    task = load_task(name)
    train, test = (public_table(task, f)[task.time_column] for f in ("train.csv", "test.csv"))
    assert train.max() < test.min()


@pytest.mark.parametrize("name", SMALL)
def test_every_run_writes_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task(name)
    written = []
    for directory in ("one", "two"):
        monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / directory))
        written.append(files(prepare(task)))
    assert len(written[0]) == 5
    assert written[0] == written[1]


# --- leaks ---


def test_ids_are_unique_and_say_nothing_about_the_target(task: Task) -> None:
    train, hidden = public_table(task, "train.csv"), answers(task)
    both = pd.concat([train[["id", task.target]], hidden])
    assert both["id"].is_unique
    for part in (train, hidden, both):
        assert uncorrelated(part["id"], part[task.target])


def test_the_order_of_rows_says_nothing_about_target_or_id(task: Task) -> None:
    for part in (public_table(task, "train.csv"), answers(task)):
        order = pd.Series(np.arange(len(part)), index=part.index)
        assert uncorrelated(order, part[task.target])
        assert uncorrelated(order, part["id"])


def uncorrelated(numbers: pd.Series, target: pd.Series) -> bool:
    """Spearman within 4 standard errors of 0: about 1 false alarm in 16 000, and none here."""
    codes = target if target.dtype.kind in "if" else target.astype("category").cat.codes
    return bool(abs(stats.spearmanr(numbers, codes).statistic) < 4 / np.sqrt(len(codes) - 1))


def test_no_row_of_the_hidden_part_is_in_the_training_part(task: Task) -> None:
    test = public_table(task, "test.csv").drop(columns="id")
    train = public_table(task, "train.csv")[list(test)]
    assert test.drop_duplicates().merge(train.drop_duplicates(), how="inner").empty


def test_no_column_is_the_target(task: Task) -> None:
    train, test = public_table(task, "train.csv"), public_table(task, "test.csv")
    assert task.target not in test
    target = train[task.target]
    codes = target if task.kind == "regression" else target.astype("category").cat.codes
    for name in test.columns:
        assert not train[name].astype(str).equals(target.astype(str))
        if train[name].dtype.kind in "if" and train[name].nunique() > 1:
            assert abs(stats.spearmanr(train[name], codes, nan_policy="omit").statistic) < 0.999


def test_the_sample_submission_does_not_vary(task: Task) -> None:
    sample = public_table(task, "sample_submission.csv")
    assert (sample.drop(columns="id").nunique() == 1).all()
    assert list(sample["id"]) == list(answers(task)["id"])


def test_the_answers_are_for_their_owner_only(task: Task) -> None:
    assert stat.S_IMODE(task.private.stat().st_mode) == 0o700
    assert stat.S_IMODE(task.public.stat().st_mode) == 0o755
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in task.public.iterdir())


# --- splitting ---


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


# --- the cache ---


def test_the_cache_is_where_the_variable_says(task_cache: Path) -> None:
    assert cache_directory() == task_cache


def test_without_the_variable_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WMRL_GYM_CACHE")
    assert cache_directory().name == "wmrl_gym"


def test_a_prepared_task_is_not_written_again(tmp_path: Path) -> None:
    task = toy_task(tmp_path, pd.DataFrame({"x": range(20), "y": range(20)}), name="kept")
    before = (task.public / "train.csv").stat()
    assert (task.public / "train.csv").stat() == before


def test_a_cache_that_cannot_be_written_is_an_error_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "file"))
    with pytest.raises(TaskError, match="WMRL_GYM_CACHE"):
        prepare(load_task("wine-cultivar"))


@pytest.mark.slow
def test_processes_that_prepare_at_once_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        places = pool.map(_prepare_by_name, ["digits"] * 3, chunksize=1)
    assert len(set(places)) == 1
    kept = [path.name for path in (tmp_path / "tasks" / "digits").iterdir()]
    assert kept == [load_task("digits").version]


def _prepare_by_name(name: str) -> str:
    return str(prepare(load_task(name)))
