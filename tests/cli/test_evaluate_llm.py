"""`wmrl-gym evaluate --agent llm`, on real tasks in real sandboxes, with a scripted model."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.llm.speakers import COPY, CRASH, NOTHING, ScriptedSpeaker
from wmrl_gym.cli import main
from wmrl_gym.cli.evaluate_llm_config import EvaluateLLMConfig
from wmrl_gym.cli.llm_evaluation import make_speaker
from wmrl_gym.interchange import read_trajectories
from wmrl_gym.interchange.handed_in import handed_in

TASKS = ["wine-cultivar-micro", "diabetes-micro"]
speaker = ScriptedSpeaker()


def make() -> ScriptedSpeaker:
    """For `--model tests.cli.test_evaluate_llm:make`."""
    return speaker


def evaluate(run: Path, *arguments: str, says: list[str]) -> ScriptedSpeaker:
    global speaker
    speaker = ScriptedSpeaker(says)
    main(["evaluate", "--agent", "llm", "--run", str(run), *arguments])
    assert speaker.closed
    return speaker


NEW = ["--model", f"{__name__}:make", "--tasks", *TASKS, "--attempts", "2", "--timeout-s", "30"]


def result(run: Path) -> Any:
    return json.loads((run / "result.json").read_text())


def executions(run: Path) -> dict[str, str]:
    """Key and time of every real execution."""
    with sqlite3.connect(run / "executions.sqlite") as store:
        return dict(store.execute("SELECT key, created FROM outcomes").fetchall())


def test_tables_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    said = evaluate(run, *NEW, says=[CRASH, COPY, "submit"])
    # Each turn of all four episodes is one call of the model.
    assert said.batches == [4, 4, 4]
    printed = capsys.readouterr().out
    assert "0.500 [0.500, 0.500]" in printed
    assert "2 crashed" in printed
    assert "no board" in printed
    found = result(run)
    assert found["mean"] == 0.5
    wine = found["tasks"]["wine-cultivar-micro"]
    assert wine["scores"] == [0.5, 0.5]
    assert wine["statuses"] == {"crashed": 2, "completed": 2}
    # A sample submission is worse than every reference.
    assert (wine["position"], wine["best"], wine["turns"]) == (0.0, 0.5, 6)
    assert len(executions(run)) == 4
    episodes = list(read_trajectories(run / "episodes.jsonl"))
    assert [(e.options["task"], e.options["attempt"]) for e in episodes] == [
        (task, number) for number in (1, 2) for task in TASKS
    ]
    script = handed_in(episodes[0])
    assert script is not None
    assert "sample_submission" in script
    # A finished evaluation is shown again, and nothing is played.
    again = evaluate_again(run)
    assert again.batches == []
    assert result(run) == found


def evaluate_again(run: Path) -> ScriptedSpeaker:
    global speaker
    speaker = ScriptedSpeaker(["never asked"])
    main(["evaluate", "--run", str(run), "--resume"])
    return speaker


def test_a_server_that_fails_costs_its_attempts_until_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        evaluate(run, *NEW, says=[NOTHING, "error: overloaded"])
    assert "4 attempts have no score, wine-cultivar-micro #1 for one" in str(stopped.value)
    assert "overloaded; play them again with: wmrl-gym evaluate" in str(stopped.value)
    assert "has no score" in capsys.readouterr().out
    before = executions(run)
    # What was answered is not asked again, what was executed not executed again.
    global speaker
    speaker = ScriptedSpeaker(["never asked", "submit"])
    main(["evaluate", "--run", str(run), "--resume"])
    assert speaker.batches == [4]
    assert executions(run) == before
    assert result(run)["tasks"]["diabetes-micro"]["scores"] == [0.2, 0.2]
    assert result(run)["unscored"] == {}


@pytest.mark.slow
def test_ctrl_c_stops_after_the_turn_and_resuming_pays_nothing_twice(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "wmrl_gym.cli", "evaluate", "--run", str(run)]
    model = ["--agent", "llm", "--model", "tests.agents.llm.speakers:slow_copier"]
    process = subprocess.Popen(
        [*command, *model, "--tasks", *TASKS, "--attempts", "1", "--timeout-s", "30"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    answers = run / "answers.jsonl"
    while process.poll() is None and not (answers.exists() and answers.read_bytes()):
        time.sleep(0.05)  # nothing can be awaited: another process writes the file
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "stopping after this turn" in out
    assert "continue with: wmrl-gym evaluate" in out
    before = executions(run), answers.read_text()
    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert answers.read_text().startswith(before[1])
    assert len(answers.read_text().splitlines()) == 6
    assert {k: executions(run)[k] for k in before[0]} == before[0]
    assert result(run)["mean"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "no-such-model"], "model='no-such-model' must look like 'smollm2'"),
        (["--model", "no.such:thing"], "model='no.such:thing' is no language model"),
        (["--model", "openai:http://127.0.0.1:1/v1"], "no model server answers"),
        (["--tasks", "no-such-task"], "no-such-task"),
        (["--attempts", "0"], "attempts=0 must be at least 1"),
        (["--sandbox", "no-such-sandbox"], "no-such-sandbox"),
        (["--address", "host:1", "--model", f"{__name__}:make"], "address='host:1' needs"),
        (["--env-arguments", "gpus", "--model", f"{__name__}:make"], "must look like name=value"),
        (
            [
                *("--env-arguments", "gpus=1", "--sandbox", "landlock"),
                "--model",
                f"{__name__}:make",
            ],
            "gpus=1: sandbox='landlock' cannot pass GPUs through",
        ),
    ],
)
def test_wrong_arguments_leave_nothing_behind(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "--agent", "llm", "--run", str(run), *arguments])
    assert message in str(stopped.value) + capsys.readouterr().err
    assert not run.exists()


def test_a_second_evaluation_needs_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SystemExit, match="continue it with --resume"):
        main(["evaluate", "--agent", "llm", "--run", str(tmp_path)])


def test_a_back_end_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_speaker(f"{__name__}:make", deadline_s=1.0), ScriptedSpeaker)
    with pytest.raises(ValueError, match="temperature=0"):
        EvaluateLLMConfig(temperature=0.0)
    with pytest.raises(ValueError, match="must name at least one task"):
        EvaluateLLMConfig(tasks=())
