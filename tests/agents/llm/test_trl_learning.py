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
    """The command, as a user would give it; with its defaults."""
    path = tmp_path_factory.mktemp("llm") / "run"
    command = [sys.executable, "-m", "wmrl_gym.cli", "train", "--agent=trl", f"--run={path}"]
    done = subprocess.run(
        [*command, "--device=cpu"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=2400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def figures(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_it_learns(run: Path) -> None:
    rewards = [line["reward"] for line in figures(run)]
    assert np.mean(rewards[-5:]) > np.mean(rewards[:3]) + 0.1


def test_the_trained_policy_is_better_by_real_executions(run: Path) -> None:
    # Neither a world model nor a map has a say in these.
    result = json.loads((run / "result.json").read_text())
    before, after = (
        np.mean([np.mean(scores) for scores in result[when].values()])
        for when in ("before", "after")
    )
    assert set(result["after"]) == {"wine-cultivar-micro", "diabetes-micro", "penguin-sex-micro"}
    assert all(len(scores) == 24 for scores in result["after"].values())
    assert after > before + 0.1


def test_what_training_cost_is_told(run: Path) -> None:
    cost = json.loads((run / "result.json").read_text())["cost"]
    # Of 180 groups of 8; a sentence that the grammar does not know executes nothing.
    assert 900 < cost["executions_done"] + cost["executions_avoided"] <= 180 * 8
    assert cost["seconds_if_all_executed"] > cost["seconds"] > 0


def test_most_executions_were_avoided(run: Path) -> None:
    last = figures(run)[-1]
    store = OutcomeStore(run / "executions.sqlite")
    scores = [outcome.score for _, outcome in store]
    store.close()
    # Those of training, and of 24 episodes on three tasks before and after.
    assert len(scores) <= last["wmrl/executions_real"] + 2 * 24 * 3
    assert last["wmrl/executions_avoided"] > 3 * last["wmrl/executions_real"]


def test_anchors_were_executed_and_fitted(run: Path) -> None:
    last = figures(run)[-1]
    assert last["wmrl/calibrated"] == 1.0
    assert last["wmrl/pairs"] >= 40
    # A tenth of the groups, and those before the world model was ready.
    assert last["wmrl/groups_real"] <= 0.1 * 180 + 12
    assert {line["wmrl/share_real"] for line in figures(run)} > {0.0}


def test_weights_were_applied(run: Path) -> None:
    # The warm-up of the weight has ended, and anchors after it counted for more.
    assert max(line["wmrl/weight_max"] for line in figures(run)) > 1.0
