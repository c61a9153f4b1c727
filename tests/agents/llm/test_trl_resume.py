"""A run that is killed goes on: the same anchors, nothing paid twice, the correction restored."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.llm

ARGUMENTS = [
    "--model=pipeline",
    "--tasks",
    "wine-cultivar-micro",
    "penguin-sex-micro",
    "--groups=8",
    "--group-size=4",
    "--iterations=1",
    "--groups-per-batch=2",
    "--anchor-fraction=0.5",
    # On a busy machine too nothing may be stopped in one run and not in the other.
    "--timeout-s=180",
    # Its predictions depend on nothing that differs between runs, such as durations.
    "--world-model=tests.agents.llm.scripts:ChecksumModel",
    "--save-batches=1",
    "--evaluation-episodes=0",
    "--device=cpu",
]


def command(run: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "wmrl_gym.cli", "train", "--agent=trl", f"--run={run}", *arguments],
        env=environment,
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def state(run: Path, step: int) -> Any:
    file = run / "checkpoints" / f"checkpoint-{step}" / "wmrl_state.pkl"
    return pickle.loads(file.read_bytes())


def executed(run: Path) -> dict[str, str]:
    """Key and time of every real execution."""
    with sqlite3.connect(run / "executions.sqlite") as store:
        return dict(store.execute("SELECT key, created FROM outcomes").fetchall())


def test_killed_and_resumed_is_like_never_killed(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    process = command(whole, *ARGUMENTS)
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output

    process = command(broken, *ARGUMENTS)
    second = broken / "checkpoints" / "checkpoint-2" / "wmrl_state.pkl"
    deadline = time.monotonic() + 900
    while not second.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)  # nothing can be awaited: another process writes the file
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert second.exists()
    before = executed(broken)
    process = command(broken, "--resume")
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output

    # The same episodes, the same anchors, the same pairs, whatever happened in between.
    one, two = state(whole, 4), state(broken, 4)
    assert two["groups_started"] == one["groups_started"] == 8
    for part in ("pairs", "correction"):
        assert str(two["anchored"][part]) == str(one["anchored"][part])
    assert executed(broken).keys() == executed(whole).keys()
    # What was paid for before the kill was not carried out again.
    assert {k: executed(broken)[k] for k in before} == before
    assert one["anchored"]["correction"]["version"] > 1
    # Each batch is in the metrics once, those that came again too.
    assert [line["step"] for line in lines(broken)] == [1, 2, 3, 4]
    rewards = [[line["reward"] for line in lines(run)] for run in (whole, broken)]
    assert rewards[1] == pytest.approx(rewards[0])
    assert (broken / "model" / "config.json").exists()


def test_a_run_needs_a_name_of_its_own_and_a_resumed_one_must_exist(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    taken = command(tmp_path)
    assert "continue it with --resume" in taken.communicate(timeout=300)[0]
    assert taken.returncode != 0
    missing = command(tmp_path / "none", "--resume")
    assert "is not the directory of a run" in missing.communicate(timeout=300)[0]
    assert missing.returncode != 0
