"""`wmrl-gym tasks`, with imported tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from wmrl_gym.cli import main
from wmrl_gym.cli.tasks import TasksList


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"


@pytest.fixture
def bench(tmp_path: Path) -> trees.MLEBench:
    bench = trees.MLEBench(tmp_path / "bench")
    bench.add("yearly-progression", board=trees.RMSE_BOARD)
    bench.add("diabetes", board=trees.POINTER)
    return bench


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wmrl_gym.cli", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


@pytest.mark.slow
def test_import_list_show_and_prepare(
    bench: trees.MLEBench, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command("tasks", "import", str(bench.data))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any("yearly-progression" in line and "rmse" in line for line in lines)
    # The name of a built-in task is prefixed; its leaderboard is a pointer, which is said.
    assert "mle-bench-diabetes" in done.stdout
    assert "pointer of Git LFS" in done.stdout
    main(["tasks", "import", str(bench.data)])  # twice is as good as once
    capsys.readouterr()
    main(["tasks", "list"])
    listed = capsys.readouterr().out
    assert "wine-cultivar" in listed
    assert listed.count("yearly-progression") == 2  # the name, and where the data come from
    main(["tasks", "show", "mle-bench-diabetes"])
    shown = capsys.readouterr().out
    assert "What to do." in shown
    assert "sample submission" in shown
    main(["tasks", "prepare", "yearly-progression", f"{bench.data}::diabetes"])
    places = capsys.readouterr().out.splitlines()
    assert places[0] == f"yearly-progression: {bench.data}/yearly-progression/prepared/public"
    assert places[1].startswith(f"{bench.data}::diabetes: ")


def test_options_are_remembered(
    tmp_path: Path, bench: trees.MLEBench, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from wmrl_gym.envs.mle.importers import load_imported

    monkeypatch.chdir(bench.root)
    (bench.root / "mlebench").rename(bench.root / "moved")
    main(
        ["tasks", "import", f"{bench.data}::yearly-progression", "--name", "mine",
         "--definitions", "moved/competitions", "--higher-is-better", "--grading-s", "9"]
    )  # fmt: skip
    assert "mine" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    task = load_imported("mine")
    assert task.higher_is_better is True
    assert task.grader.limits.wall_s == 9.0


def test_a_task_whose_files_are_gone_is_still_listed(
    bench: trees.MLEBench, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["tasks", "import", f"{bench.data}::yearly-progression"])
    bench.data.rename(bench.root / "gone")
    capsys.readouterr()
    main(["tasks", "list"])
    listed = capsys.readouterr().out
    assert "yearly-progression" in listed
    assert "cannot be read" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{root}"], "is in none of these layouts"),
        (["{root}/none"], "is not a directory"),
        (["{data}", "--layout", "kaggle"], "layout='kaggle' must be one of"),
        (["{data}", "--name", "one"], "is for one task, and there are 2"),
        (["{data}", "--higher-is-better", "--lower-is-better"], "exclude each other"),
        (["{data}", "--definitions", "/no/such/place"], "is not a directory"),
        (["{data}::none"], "has no task 'none'"),
    ],
)
def test_errors_say_what_to_do(
    bench: trees.MLEBench, tmp_path: Path, arguments: list[str], message: str
) -> None:
    filled = [a.format(root=tmp_path, data=bench.data) for a in arguments]
    with pytest.raises(SystemExit) as stopped:
        main(["tasks", "import", *filled])
    assert message in str(stopped.value)


def test_one_broken_task_is_told_and_the_others_imported(
    bench: trees.MLEBench, capsys: pytest.CaptureFixture[str]
) -> None:
    (bench.definitions / "diabetes" / "config.yaml").write_text("[")
    main(["tasks", "import", str(bench.data)])
    said = capsys.readouterr().out
    assert "not imported" in said
    assert "yearly-progression" in said


def test_an_extra_in_a_table_is_not_taken_for_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wmrl_gym.cli.tasks.available_task_names", lambda: ())
    monkeypatch.setenv("COLUMNS", "200")
    TasksList()()
    assert 'pip install "wmrl-gym[tasks]"' in capsys.readouterr().out
