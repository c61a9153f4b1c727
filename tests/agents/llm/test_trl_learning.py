"""A small policy really learns from predictions and a thin stream of real executions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wmrl_gym.executors import OutcomeStore

pytestmark = pytest.mark.llm


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, as a user would give it; its defaults but for the length."""
    path = tmp_path_factory.mktemp("llm") / "run"
    command = [sys.executable, "-m", "wmrl_gym.cli", "train-llm", f"--run={path}"]
    done = subprocess.run(
        [*command, "--groups=180", "--iterations=4", "--device=cpu"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def figures(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_it_learns(run: Path) -> None:
    rewards = [line["reward"] for line in figures(run)]
    assert np.mean(rewards[-5:]) > np.mean(rewards[:3]) + 0.1


def test_most_executions_were_avoided(run: Path) -> None:
    last = figures(run)[-1]
    store = OutcomeStore(run / "executions.sqlite")
    scores = [outcome.score for _, outcome in store]
    store.close()
    assert len(scores) <= last["wmrl/executions_real"]
    assert last["wmrl/executions_avoided"] > 3 * last["wmrl/executions_real"]


def test_anchors_were_executed_and_fitted(run: Path) -> None:
    last = figures(run)[-1]
    assert last["wmrl/calibrated"] == 1.0
    assert last["wmrl/pairs"] >= 40
    # A tenth of the groups, and those before the world model was ready.
    assert last["wmrl/groups_real"] <= 0.1 * 180 + 12
    assert {line["wmrl/share_real"] for line in figures(run)} > {0.0}
