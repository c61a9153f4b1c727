"""What a user does wrong with `wmrl-gym train --agent trl`, and how they stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from tests.agents.llm.scripts import DigitsEnv
from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.cli import main
from wmrl_gym.outcomes import Execution

pytestmark = [
    pytest.mark.llm,
    # Deprecations inside TRL and transformers, which no code of ours can answer.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

SMALL = ["--groups=8", "--groups-per-batch=2", "--group-size=2", "--evaluation-episodes=0"]


@pytest.fixture
def no_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small policy is refused before it says anything: it need not know the grammar."""
    from wmrl_gym.agents.llm import pipeline_policy

    monkeypatch.setattr(pipeline_policy, "_teach", lambda *arguments: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model={}/none"], "none' is no model that can be loaded: give the directory of a"),
        (["--model={}"], "is no model that can be loaded: give the directory of a"),
        (["--tasks", "nope"], "task='nope' is no built-in task"),
        (["--world-model=nope"], "world_model='nope' is unknown"),
        (["--env=nope-v0"], "env='nope-v0' cannot be made.*Environment `nope` doesn't exist"),
        (["--env=CartPole-v1"], "env='CartPole-v1' cannot be made as WMRL-MLE-v0 is"),
        (["--loss-type=nope"], "loss_type='nope' is not one in which weights are exact"),
        (["--anchor-fraction=2"], "fraction must lie in \\[0, 1\\], got 2.0"),
    ],
)
def test_a_wrong_argument_is_named_and_leaves_no_directory(
    arguments: list[str], message: str, tmp_path: Path, no_lessons: None
) -> None:
    run = tmp_path / "run"
    given = [argument.format(tmp_path) for argument in arguments]
    with pytest.raises(SystemExit, match=message):
        main(["train", "--agent=trl", f"--run={run}", "--device=cpu", *SMALL, *given])
    assert not run.exists()


def test_what_was_in_a_directory_before_stays(tmp_path: Path, no_lessons: None) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit, match="world_model='nope'"):
        main(["train", "--agent=trl", f"--run={tmp_path}", "--world-model=nope", *SMALL])
    assert (tmp_path / "notes.txt").read_text() == "mine"


class Digits(DigitsEnv):
    """Executes something whatever a model says: that one from scratch says no digit."""

    def __init__(self, *, tasks: Sequence[str], max_turns: int, **of_the_command: Any) -> None:
        super().__init__(tasks=tasks, max_turns=max_turns)

    def propose(self, action: str) -> Execution | None:
        return Execution(task=self.task, artifact=f"x = {len(action)}")


def test_the_policy_with_its_adapter_off_is_the_world_model(tmp_path: Path) -> None:
    gym.register("WMRLTest/AnyDigits-v0", Digits)
    run, model = tmp_path / "run", tiny_llama(tmp_path / "model")
    lengths = ["--prompt-tokens=64", "--completion-tokens=16", "--observation-tokens=32"]
    chosen = [f"--model={model}", "--lora-rank=2", "--world-model=base", "--anchor-fraction=0"]
    where = ["--env=WMRLTest/AnyDigits-v0", "--tasks", "a", "--max-turns=1", "--device=cpu"]
    main(["train", "--agent=trl", f"--run={run}", *SMALL, "--groups=2", *lengths, *chosen, *where])
    (line,) = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    # The batch was one call of the base model, which gives digits little probability.
    assert line["wmrl/executions_avoided"] == 4
    assert line["wmrl/executions_real"] == 0
    assert line["wmrl/unscorable"] == 1.0
    assert (run / "model" / "adapter_model.safetensors").exists()


def test_ctrl_c_saves_after_the_batch_and_says_how_to_go_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "wmrl_gym.cli", "train", "--agent=trl", f"--run={run}"]
    process: Any = subprocess.Popen(
        [*command, "--device=cpu", "--iterations=2", "--anchor-fraction=0", *SMALL],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in process.stdout:
        if line.startswith("step=1/8"):  # the first of two passes over the first batch
            process.send_signal(signal.SIGINT)
            break
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert f"continue with: wmrl-gym train --run {run} --resume" in output
    saved = [path.parent.name for path in run.glob("checkpoints/*/wmrl_state.pkl")]
    assert saved in (["checkpoint-2"], ["checkpoint-4"])
    assert not (run / "model").exists()
