"""Features of imported tasks: the same keys as those of the built-in ones, and always finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import load
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.importers import traits


def keys() -> list[str]:
    return list(load_task("diabetes").features())


def test_a_table_with_one_target(tmp_path: Path) -> None:
    task = load(trees.MLEBench(tmp_path).add())
    found = task.features()
    assert list(found) == keys()
    assert found["is_regression"] == found["lower_is_better"] == 1.0
    assert found["log10_rows"] == pytest.approx(np.log10(120))
    assert found["log10_columns"] == pytest.approx(np.log10(10))
    found["is_regression"] = 0.0
    assert task.features()["is_regression"] == 1.0


def test_a_classification_by_an_error(tmp_path: Path) -> None:
    found = load(trees.sandmle(tmp_path)).features()
    assert (found["is_binary"], found["lower_is_better"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    "train",
    [
        None,
        pd.DataFrame({"other": [1, 2]}),
        pd.DataFrame({"id": [1, 2], "age": [1, 2], "a": [1, 2], "b": [1, 2]}),
        pd.DataFrame({"id": [1, 2], "age": [1, 2], "progression": [None, None]}),
    ],
)
def test_zeros_where_nothing_can_be_told(tmp_path: Path, train: pd.DataFrame | None) -> None:
    data = trees.MLEBench(tmp_path).add()
    path = data / "prepared" / "public" / "train.csv"
    path.unlink()
    if train is not None:
        trees.write(path, train)
    found = load(data).features()
    assert list(found) == keys()
    assert set(found.values()) == {0.0}


def test_at_most_10_000_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert traits.MOST_ROWS == 10_000
    monkeypatch.setattr(traits, "MOST_ROWS", 50)
    found = load(trees.MLEBench(tmp_path).add()).features()
    assert found["log10_rows"] == pytest.approx(np.log10(50))


def test_a_constant_target_has_finite_features(tmp_path: Path) -> None:
    data = trees.MLEBench(tmp_path).add()
    constant = pd.DataFrame({"id": [1, 2], "age": [1, 2], "progression": [7.5, 7.5]})
    trees.write(data / "prepared" / "public" / "train.csv", constant)
    assert np.isfinite(list(load(data).features().values())).all()
