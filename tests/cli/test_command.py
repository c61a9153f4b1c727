"""The command, run as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wmrl_gym.cli import main
from wmrl_gym.executors.episode_log import read_rows
from wmrl_gym.training.directory import RunDirectory

SMALL = [
    "--tasks", "wine-cultivar", "diabetes",
    "--held-out-tasks", "breast-cancer",
    "--groups", "24", "--group-size", "4", "--groups-per-batch", "4",
    "--evaluation-episodes", "2", "--timeout-s", "3",
]  # fmt: skip


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wmrl_gym.cli", *arguments], capture_output=True, text=True
    )


def episodes(run: Path) -> list[tuple[object, ...]]:
    rows = read_rows(run / "episodes.jsonl")
    # NaN is not equal to itself.
    return [(row.group, row.real, repr(row.predicted), repr(row.true), row.weight) for row in rows]


def metrics(run: Path) -> list[dict[str, float]]:
    """The lines of a run without what the clock decides."""
    timed = {"elapsed", "seconds_saved", "seconds_real", "seconds_avoided"}
    return [
        {k: v for k, v in line.items() if k not in timed} for line in RunDirectory(run).metrics()
    ]


@pytest.mark.slow
def test_train_ends_in_a_truthful_table_and_leaves_everything_behind(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = command("train", "--run", str(run), *SMALL)
    assert done.returncode == 0, done.stderr
    assert "groups=24/24" in done.stdout
    assert "all tasks trained on" in done.stdout
    assert "executing everything" in done.stdout
    lines = list(RunDirectory(run).metrics())
    assert [line["groups"] for line in lines] == [4, 8, 12, 16, 20, 24]
    last = lines[-1]
    assert last["executions_real"] + last["executions_avoided"] == 24 * 4
    assert last["executions_avoided"] > 0
    result = json.loads((run / "result.json").read_text())
    assert set(result["after"]) == {"wine-cultivar", "diabetes", "breast-cancer"}
    assert all(len(scores) == 2 for scores in result["after"].values())
    assert json.loads((run / "config.json").read_text())["seed"] == 0
    assert "gymnasium" in json.loads((run / "versions.json").read_text())
    # A second run never overwrites the first; a finished one is not trained further.
    again = command("train", "--run", str(run), *SMALL)
    assert again.returncode != 0
    assert "--resume" in again.stderr
    resumed = command("train", "--run", str(run), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert list(RunDirectory(run).metrics()) == lines


@pytest.mark.slow
def test_a_killed_run_resumes_as_if_nothing_had_happened(tmp_path: Path) -> None:
    arguments = [*SMALL, "--evaluation-episodes", "0", "--timeout-s", "20"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert command("train", "--run", str(whole), *arguments).returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "wmrl_gym.cli", "train", "--run", str(killed), *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("groups=8/"):
            process.kill()
            break
    process.stdout.close()
    process.wait()
    resumed = command("train", "--run", str(killed), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert metrics(killed) == metrics(whole)
    assert episodes(killed) == episodes(whole)


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "wmrl_gym.cli", "train", "--run", str(run), *SMALL,
         "--groups", "4000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("groups=4/"):
            os.kill(process.pid, signal.SIGINT)
            break
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "--resume" in out
    assert "Traceback" not in err
    groups = list(RunDirectory(run).metrics())[-1]["groups"]
    assert groups < 4000
    assert (run / "checkpoint.pt").exists()


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_an_environment_of_ones_own(
    algorithm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        ["train", "--run", str(tmp_path / "run"), "--env", "tests.wrappers.toys:tests/Counting-v0",
         "--tasks", "--world-model", "tests.wrappers.toys:SquareWorldModel",
         "--agent", algorithm,
         "--groups", "20", "--group-size", "4", "--groups-per-batch", "5"]
    )  # fmt: skip
    said = capsys.readouterr().out
    assert "groups=20/20" in said
    assert "all episodes" in said
    last = list(RunDirectory(tmp_path / "run").metrics())[-1]
    assert last["executions_avoided"] > last["executions_real"] > 0
    if algorithm == "grpo":
        # Two of twenty groups are anchors, of 4 episodes with at most 3 executions each.
        assert last["groups_real"] == 2
        assert last["executions_real"] <= 2 * 4 * 3


def test_tasks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["tasks", "list"])
    listed = capsys.readouterr().out
    assert "wine-cultivar" in listed
    main(["tasks", "show", "wine-cultivar"])
    assert "log_loss" in capsys.readouterr().out
    main(["tasks", "prepare", "wine-cultivar"])
    public = Path(capsys.readouterr().out.partition(": ")[2].strip())
    assert (public / "train.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tasks", "show", "no-such-task"], "no-such-task"),
        (["evaluate", "--run", "no-such-run"], "no-such-run"),
        (["train", "--run", "x", "--resume"], "not the directory of a run"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert message in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_reader_may_leave_early() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "wmrl_gym.cli", "train", "--help"],
        stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (process.returncode, process.stderr) == (141, "")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--groups", "0", "groups=0"),
        ("--anchor-fraction", "2", "got 2"),
        ("--tasks", "no-such-task", "no-such-task"),
        ("--env", "WMRL-MLE-v0", "takes text"),
        ("--env", "WMRL-NOPE-v0", "env='WMRL-NOPE-v0' cannot be made"),
        ("--env", "no_such_module:X-v0", "No module named 'no_such_module'"),
        ("--world-model", "no-such-model", "no-such-model"),
        ("--sandbox", "no-such-sandbox", "no-such-sandbox"),
    ],
)
def test_wrong_arguments_leave_no_run_behind(
    option: str,
    value: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        main(["train", "--run", str(run), option, value])
    # What is wrong with one option alone is said by the parser, on stderr.
    assert message in str(stopped.value) + capsys.readouterr().err
    assert not (run / "config.json").exists()


def test_help_says_what_it_can_do() -> None:
    done = command("--help")
    assert done.returncode == 0
    assert "train" in done.stdout
