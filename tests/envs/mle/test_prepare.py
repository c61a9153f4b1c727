"""What preparation writes, and that nothing of the answers leaks into what is public."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.envs.mle.toy_task import table_task, toy_task
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.prepare import cache_directory, prepare
from wmrl_gym.envs.mle.splitting import table
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

SMALL = ("wine-cultivar", "seattle-weather", "auto-mpg", "recidivism", "fuel-economy")
SIZES = [*task_names(), *task_names(micro=True)]


@pytest.fixture(params=task_names())
def task(request: pytest.FixtureRequest) -> TableTask:
    return table_task(request.param)


def public_table(task: TableTask, name: str) -> pd.DataFrame:
    return pd.read_csv(task.public / name)


def answers(task: TableTask) -> pd.DataFrame:
    return pd.read_csv(task.private / "test.csv")


def files(directory: Path) -> dict[str, bytes]:
    paths = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


# --- layout ---


def test_files_have_the_shape_that_was_promised(task: TableTask) -> None:
    features = list(task.columns) or [
        c for c in public_table(task, "test.csv").columns if c != "id"
    ]
    assert {path.name for path in task.public.iterdir()} == {
        "train.csv",
        "test.csv",
        "sample_submission.csv",
        "description.md",
    }
    assert list(public_table(task, "train.csv")) == ["id", *features, *task.targets]
    assert list(public_table(task, "test.csv")) == ["id", *features]
    assert tuple(public_table(task, "sample_submission.csv")) == task.submission_columns
    assert list(answers(task)) == ["id", *task.targets, "Usage"]
    assert (task.public / "description.md").read_text(encoding="utf-8") == task.description


def test_nothing_of_the_data_is_lost(task: TableTask) -> None:
    train, test = public_table(task, "train.csv"), public_table(task, "test.csv")
    whole = table(task)
    assert len(train) + len(test) == len(whole)
    assert list(test["id"]) == list(answers(task)["id"])
    if task.split_column:
        assert len(test) == (whole[task.split_column] == "test").sum()
    else:
        assert 0.38 < len(test) / len(whole) < 0.42


def test_a_quarter_of_the_hidden_answers_is_public(task: TableTask) -> None:
    usage = answers(task)["Usage"]
    assert set(usage) == {"Public", "Private"}
    assert 0.16 < (usage == "Public").mean() < 0.28


def test_all_parts_have_the_classes_in_the_same_shares(task: TableTask) -> None:
    if task.time_column or task.split_column:
        return  # the future need not be like the past
    target = task.targets[-1]  # rows are drawn by the last
    hidden = answers(task)
    train = public_table(task, "train.csv")[target]
    for part in (hidden[target], hidden[target][hidden["Usage"] == "Private"]):
        if not task.classes:
            assert stats.ks_2samp(train, part).pvalue > 0.05
            continue
        shares = [counted.value_counts(normalize=True) for counted in (train, part)]
        assert set(train.astype(str)) == set(part.astype(str)) == set(task.classes)
        assert (shares[0] - shares[1]).abs().max() < 0.05


@pytest.mark.parametrize("name", SIZES)
def test_a_perfect_submission_gets_the_optimum_on_each_part(name: str) -> None:
    task = table_task(name)
    hidden = pd.read_csv(task.private / "test.csv", dtype=str, keep_default_na=False)
    for part in ("Public", "Private"):
        rows = hidden[hidden["Usage"] == part]
        true, perfect = perfection(task, rows)
        value = METRICS[task.metric].compute(true, perfect, task.classes)
        assert value == pytest.approx(task.optimum, abs=1e-12)


def perfection(task: TableTask, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Answers as the grader reads them, and predictions that are as good as can be."""
    if task.classes:
        labels = np.array(rows[task.target].tolist())
        match METRICS[task.metric].prediction:
            case "labels":
                return labels, labels
            case "score":
                return labels, (labels == task.classes[-1]).astype(float)
        return labels, np.stack([(labels == c).astype(float) for c in task.classes], axis=1)
    numbers = rows[list(task.targets)].astype(float).to_numpy()
    if task.kind == "survival":
        return numbers, -numbers[:, 0]
    numbers = numbers[:, 0] if len(task.targets) == 1 else numbers
    return numbers, numbers


@pytest.mark.parametrize(
    "name", ["trump-approval", "seattle-weather", "mauna-loa-co2", "life-expectancy"]
)
def test_a_time_split_hides_the_latest_rows(name: str) -> None:
    task = table_task(name)
    assert task.time_column is not None
    train, test = (public_table(task, f)[task.time_column] for f in ("train.csv", "test.csv"))
    public = answers(task)["Usage"] == "Public"
    assert train.max() < test[public].min() <= test[public].max() < test[~public].min()


@pytest.mark.parametrize("name", SMALL)
def test_every_run_writes_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = table_task(name)
    written = []
    for directory in ("one", "two"):
        monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / directory))
        written.append(files(prepare(task)))
    assert len(written[0]) == 5
    assert written[0] == written[1]


# --- leaks ---


def test_ids_and_order_do_not_tell_the_public_answers(task: TableTask) -> None:
    hidden = answers(task)
    public = (hidden["Usage"] == "Public").astype(int)
    assert uncorrelated(hidden["id"], public)
    assert uncorrelated(pd.Series(range(len(hidden))), public)


def test_ids_are_unique_and_say_nothing_about_the_target(task: TableTask) -> None:
    train, hidden = public_table(task, "train.csv"), answers(task)
    both = pd.concat([train[["id", *task.targets]], hidden])
    assert both["id"].is_unique
    for part in (train, hidden, both):
        assert all(uncorrelated(part["id"], part[target]) for target in task.targets[:2])


def test_the_order_of_rows_says_nothing_about_target_or_id(task: TableTask) -> None:
    for part in (public_table(task, "train.csv"), answers(task)):
        order = pd.Series(np.arange(len(part)), index=part.index)
        assert all(uncorrelated(order, part[target]) for target in task.targets[:2])
        assert uncorrelated(order, part["id"])


def uncorrelated(numbers: pd.Series, target: pd.Series) -> bool:
    """Spearman within 5 standard errors of 0: about 1 false alarm in 1.7 million."""
    codes = target if target.dtype.kind in "if" else target.astype("category").cat.codes
    return bool(abs(stats.spearmanr(numbers, codes).statistic) < 5 / np.sqrt(len(codes) - 1))


def test_no_row_of_the_hidden_part_is_in_the_training_part(task: TableTask) -> None:
    test = public_table(task, "test.csv").drop(columns="id")
    train = public_table(task, "train.csv")[list(test)]
    assert test.drop_duplicates().merge(train.drop_duplicates(), how="inner").empty


def test_no_column_is_the_target(task: TableTask) -> None:
    train, test = public_table(task, "train.csv"), public_table(task, "test.csv")
    assert not set(task.targets) & set(test)
    target = train[task.targets[0]]
    codes = target.astype("category").cat.codes if task.classes else target
    for name in test.columns:
        assert not train[name].astype(str).equals(target.astype(str))
        if train[name].dtype.kind in "if" and train[name].nunique() > 1:
            assert abs(stats.spearmanr(train[name], codes, nan_policy="omit").statistic) < 0.999


def test_the_sample_submission_does_not_vary(task: TableTask) -> None:
    sample = public_table(task, "sample_submission.csv")
    assert (sample.drop(columns="id").nunique() == 1).all()
    assert list(sample["id"]) == list(answers(task)["id"])


def test_the_answers_are_for_their_owner_only(task: TableTask) -> None:
    assert stat.S_IMODE(task.private.stat().st_mode) == 0o700
    assert stat.S_IMODE(task.public.stat().st_mode) == 0o755
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in task.public.iterdir())


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
        prepare(table_task("wine-cultivar"))


@pytest.mark.slow
def test_processes_that_prepare_at_once_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        places = pool.map(_prepare_by_name, ["digits"] * 3, chunksize=1)
    assert len(set(places)) == 1
    kept = [path.name for path in (tmp_path / "tasks" / "digits").iterdir()]
    assert kept == [table_task("digits").version]


def _prepare_by_name(name: str) -> str:
    return str(prepare(table_task(name)))
