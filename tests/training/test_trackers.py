from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from wmrl_gym.training.trackers import open_trackers

CONFIG = {"groups": 16, "tasks": ("a", "b")}


def test_tensorboard_has_the_curve_of_a_resumed_run(tmp_path: Path) -> None:
    for step, score in ((8, 0.25), (16, 0.5)):
        with open_trackers(["tensorboard"], run=tmp_path, config=CONFIG) as log:
            log({"score": score, "residual": float("nan")}, step)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert events.Tags()["scalars"] == ["score"]  # what is not finite is left out
    assert [(e.step, e.value) for e in events.Scalars("score")] == [(8, 0.25), (16, 0.5)]


def test_weights_and_biases_writes_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with open_trackers(["wandb"], run=tmp_path, config=CONFIG) as log:
        log({"score": 0.25}, 8)
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    deadline = time.monotonic() + 30.0
    while b"score" not in file.read_bytes():  # its own process writes it, a little later
        assert time.monotonic() < deadline
        time.sleep(0.1)


def rows_of(file: Path) -> list[tuple[str, int, object]]:
    with sqlite3.connect(file) as database:
        return list(database.execute("SELECT run_name, step, metrics FROM metrics"))


def test_trackio_keeps_the_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trackio.sqlite_storage
    import trackio.utils

    for module in (trackio.utils, trackio.sqlite_storage):
        monkeypatch.setattr(module, "TRACKIO_DIR", tmp_path / "trackio")
    with open_trackers(["trackio"], run=tmp_path / "first", config=CONFIG) as log:
        log({"score": 0.25}, 8)
    (file,) = (tmp_path / "trackio").glob("wmrl-gym*.db")
    deadline = time.monotonic() + 30.0
    while not (rows := rows_of(file)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    ((run, step, metrics),) = rows
    assert (run, step) == ("first", 8)
    assert "0.25" in str(metrics)


def test_an_unknown_tracker_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="notebook"),
        open_trackers(["notebook"], run=tmp_path, config={}),
    ):
        pass
