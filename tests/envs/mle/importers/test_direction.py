"""Which way is better, and what a task is compared with where there is no leaderboard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import load
from wmrl_gym.envs.mle.prepare import cache_directory
from wmrl_gym.errors import TaskError

CONSTANT = "def grade(submission, answers): return 1.0\n"


@pytest.mark.parametrize(
    ("board", "explicit", "expected"),
    [
        ([0.9, 0.5], None, True),
        ([0.5, 0.9], None, False),
        ([0.9, 0.5], False, False),
        ([0.7, 0.7, 0.7], None, False),  # no direction: the answers tell, of an error
        (None, None, False),
        (None, True, True),
    ],
)
def test_order_of_what_tells(
    tmp_path: Path, board: list[float] | None, explicit: bool | None, expected: bool
) -> None:
    task = load(trees.MLEBench(tmp_path).add(board=board), higher_is_better=explicit)
    assert task.higher_is_better is expected
    assert list(task.leaderboard) == sorted(board or [], reverse=expected)


def test_the_name_of_the_metric_comes_last(tmp_path: Path) -> None:
    bench = trees.MLEBench(tmp_path)
    task = load(bench.add("known", grade=CONSTANT, metric="Log-Loss"), "known")
    assert task.higher_is_better is False
    unknown = load(bench.add("unknown", grade=CONSTANT, metric="custom"), "unknown")
    with pytest.raises(TaskError, match="'custom' does not show; import it with"):
        _ = unknown.higher_is_better


def test_answers_that_lose_to_the_sample_are_no_optimum(tmp_path: Path) -> None:
    task = load(trees.MLEBench(tmp_path).add(metric="custom"), higher_is_better=True)
    assert task.references["sample submission"] > 0
    assert task.optimum is None


def test_what_was_found_out_is_kept_by_version(tmp_path: Path) -> None:
    data = trees.MLEBench(tmp_path).add()
    task = load(data)
    found = task.calibration
    place = cache_directory() / "imported" / task.version / "calibration.json"
    content = json.loads(place.read_text())
    assert content["sample"] == found.sample
    place.write_text(json.dumps({**content, "sample": 1.5}))
    assert load(data).references == {"sample submission": 1.5}
    assert load(data, metric="other name").references != {"sample submission": 1.5}


def test_a_grader_that_fails_is_not_kept(tmp_path: Path) -> None:
    task = load(trees.MLEBench(tmp_path).add(grade="raise ValueError\n"))
    assert task.references == {}
    assert not (cache_directory() / "imported" / task.version / "calibration.json").exists()


def test_parts_are_graded_only_where_all_that_is_known_can_be(tmp_path: Path) -> None:
    insists = trees.GRADE_RMSE.replace(
        "    if len(submission) != len(answers):",
        "    if len(answers) != 80 or len(submission) != 80:",
    )
    assert insists != trees.GRADE_RMSE
    task = load(trees.MLEBench(tmp_path).add(grade=insists))
    assert not task.calibration.split
    assert task.calibration.answers == 0.0
