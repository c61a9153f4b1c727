from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmark.arm_results import make_result
from wmrl_gym.benchmark.results import (
    StudyError,
    read_result,
    read_results,
    require_comparable,
)


def test_results_come_back(tmp_path: Path) -> None:
    result = make_result("both", 3)
    assert read_result(result.write(tmp_path / "new")) == result


def test_a_result_says_where_it_was_measured() -> None:
    machine = make_result("both", 0).machine
    assert machine["cores"] >= 1
    assert machine["numpy"]


def test_scores_are_told_apart() -> None:
    result = make_result("both", 0)
    assert result.scores(held_out=True) == {"c": 0.4}
    assert sorted(result.scores(held_out=False)) == ["a", "b"]


def test_torn_files_are_left_out_and_named(tmp_path: Path) -> None:
    make_result("both", 0).write(tmp_path)
    (tmp_path / "real-0.json").write_text('{"schema": "wmrl-gym/arm')
    (tmp_path / "other.json").write_text("{}")
    results, notes = read_results(tmp_path)
    assert [result.arm for result in results] == ["both"]
    assert len(notes) == 2
    assert "real-0.json" in " ".join(notes)


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="wmrl-gym benchmark"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenario": "other"}, "scenario"),
        ({"after": {"a": 1.0}}, "tasks"),
        ({"groups": 32}, "number of groups"),
    ],
)
def test_unlike_arms_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        require_comparable([make_result("real", 0), make_result("both", 1, **changes)])
