"""Positions against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.envs.mle.toy_task import toy_task
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.scoring import position
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

FRAME = pd.DataFrame({"x": range(10), "y": range(10)})


@pytest.fixture
def errors(tmp_path: Path) -> TableTask:
    """Lower is better: 4 (position 0), 2 (0.4), 1 (0.8); half of the rest is 0.5 (1)."""
    references = {"dummy": 4.0, "boosted": 1.0, "linear": 2.0}
    return toy_task(tmp_path, FRAME, references=references)


@pytest.fixture
def shares(tmp_path: Path) -> TableTask:
    """Higher is better: 0.5 (position 0), 0.7 twice (0.4), 0.8 (0.8); then 0.9 (1)."""
    references = {"dummy": 0.5, "linear": 0.7, "neighbours": 0.7, "forest": 0.8}
    kind = {"kind": "binary", "metric": "roc_auc", "classes": ("0", "1")}
    return toy_task(tmp_path, FRAME, references=references, **kind)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (100.0, 0.0),
        (4.0, 0.0),
        (3.0, 0.2),
        (2.0, 0.4),
        (1.5, 0.6),
        (1.0, 0.8),
        (0.75, 0.9),
        (0.5, 1.0),
        (0.0, 1.0),
    ],
)
def test_position_of_an_error(errors: TableTask, metric: float, expected: float) -> None:
    assert position(errors, metric) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (0.0, 0.0),
        (0.5, 0.0),
        (0.6, 0.2),
        (0.7, 0.4),
        (0.8, 0.8),
        (0.85, 0.9),
        (0.9, 1.0),
        (1.0, 1.0),
    ],
)
def test_position_with_tied_references(shares: TableTask, metric: float, expected: float) -> None:
    assert position(shares, metric) == pytest.approx(expected)


def test_a_perfect_reference_leaves_no_head_room(tmp_path: Path) -> None:
    task = toy_task(tmp_path, FRAME, references={"dummy": 1.0, "linear": 0.5, "exact": 0.0})
    assert [position(task, metric) for metric in (0.5, 0.25, 0.0)] == pytest.approx([0.4, 0.7, 1.0])


def test_a_single_reference_and_the_optimum_are_a_scale(tmp_path: Path) -> None:
    task = toy_task(tmp_path, FRAME, references={"sample": 4.0})
    assert [position(task, m) for m in (5.0, 4.0, 3.0, 0.0)] == pytest.approx([0.0, 0.0, 0.25, 1.0])


@dataclass(frozen=True, eq=False)
class Foreign(TableTask):
    """A task whose optimum nobody knows, or that comes with a leaderboard."""

    leaderboard: tuple[float, ...] = ()  # type: ignore[misc]  # a field in place of a property
    optimum: float | None = None  # type: ignore[misc]  # the same


def foreign(directory: Path, **fields: Any) -> Foreign:
    plain = toy_task(directory, FRAME)
    return Foreign(**{f.name: getattr(plain, f.name) for f in dataclasses.fields(plain)} | fields)


def test_without_an_optimum_the_scale_goes_on_beyond_the_best(tmp_path: Path) -> None:
    task = foreign(tmp_path, references={"dummy": 4.0, "linear": 0.0})
    assert [position(task, m) for m in (2.0, 0.0, -0.5, -1.0)] == pytest.approx(
        [0.4, 0.8, 0.9, 1.0]
    )


def test_on_a_leaderboard_the_position_is_the_share_of_places(tmp_path: Path) -> None:
    task = foreign(tmp_path, leaderboard=(1.0, 2.0, 2.0, 3.0))
    assert [position(task, m) for m in (0.5, 1.5, 2.0, 3.5)] == [1.0, 0.75, 0.75, 0.0]


@pytest.mark.parametrize("references", [{}, {"dummy": 0.0}, {"dummy": 0.0, "linear": 0.0}])
def test_a_position_needs_two_values(tmp_path: Path, references: dict[str, float]) -> None:
    with pytest.raises(TaskError, match="two different values"):
        position(toy_task(tmp_path, FRAME, references=references), 0.5)


@pytest.mark.parametrize("name", task_names())
@given(values=st.lists(st.floats(-2, 200), min_size=2, max_size=2))
def test_position_never_falls_with_a_better_metric(name: str, values: list[float]) -> None:
    task = load_task(name)
    worse, better = sorted(values, reverse=not METRICS[task.metric].higher_is_better)
    low, high = position(task, worse), position(task, better)
    assert 0.0 <= low <= high <= 1.0


@pytest.mark.parametrize("name", task_names())
def test_position_is_continuous(name: str) -> None:
    task = load_task(name)
    values = [*task.references.values(), METRICS[task.metric].optimum]
    for value in values:
        around = [position(task, value + shift) for shift in (-1e-9, 0.0, 1e-9)]
        assert np.ptp(around) < 1e-3


@pytest.mark.parametrize("name", task_names())
def test_worst_and_best_reference_and_optimum(name: str) -> None:
    task = load_task(name)
    metric = METRICS[task.metric]
    worst, best = sorted([min(task.references.values()), max(task.references.values())])
    if not metric.higher_is_better:
        worst, best = best, worst
    assert len(task.references) >= 3
    assert position(task, worst) == 0.0
    assert position(task, best) == pytest.approx(0.8)
    assert position(task, metric.optimum) == 1.0
