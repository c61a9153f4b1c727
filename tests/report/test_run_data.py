from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.report.runs import make_run
from wmrl_gym.errors import RunError
from wmrl_gym.report import read_run


def test_a_finished_run_is_read_whole(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run"))
    assert len(run.episodes) == 400
    assert len(run.pairs) == 40
    assert run.series("groups")[-1] == run.last["groups"] == 160.0
    assert np.isnan(run.series("residual")[:2]).all()
    assert np.isnan(run.series("unknown")).all()
    assert run.notes == []


def test_what_is_torn_is_left_out_and_named(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"groups": 16')
    (path / "result.json").unlink()
    (path / "versions.json").write_text("{")
    (path / "episodes.jsonl").unlink()
    run = read_run(path)
    assert len(run.metrics) == 20
    notes = " ".join(run.notes)
    for part in (
        "metrics.jsonl line 21 is torn",
        "result.json is missing",
        "versions.json is torn",
        "episodes.jsonl is missing",
    ):
        assert part in notes


def test_episodes_are_read_up_to_a_bad_line(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", episodes=10)
    with (path / "episodes.jsonl").open("a") as file:
        file.write('{"group": "x"}\n')
    run = read_run(path)
    assert len(run.episodes) == 10
    assert "episodes.jsonl:11" in run.notes[0]


@pytest.mark.parametrize("content", [[], ["config.json"]])
def test_what_is_no_run_is_refused(tmp_path: Path, content: list[str]) -> None:
    for name in content:
        (tmp_path / name).write_text("{}")
    with pytest.raises(RunError, match=r"config\.json|no finished batch"):
        read_run(tmp_path)
