"""Finding tasks at a path, whatever the layout, and saying what was missing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from wmrl_gym.envs.mle import importers
from wmrl_gym.envs.mle.catalog import load_task, load_tasks
from wmrl_gym.envs.mle.importers.layouts import LAYOUTS, find_tasks
from wmrl_gym.errors import TaskError


@pytest.fixture
def many(tmp_path: Path) -> Path:
    bench = trees.MLEBench(tmp_path / "bench")
    parts = trees.regression(rows=30)
    for number in range(75):
        bench.add(f"task-number-{number:02d}", parts=parts, board=trees.RMSE_BOARD)
    return bench.data


def test_a_wrong_directory_is_told_what_each_layout_lacks(tmp_path: Path) -> None:
    with pytest.raises(TaskError) as error:
        load_tasks(str(tmp_path))
    first, *lines = str(error.value).splitlines()
    assert str(tmp_path) in first
    assert [line.strip().partition(":")[0] for line in lines] == list(LAYOUTS)
    assert all(": no " in line for line in lines)


def test_what_is_no_directory(tmp_path: Path) -> None:
    for wrong in (tmp_path / "none", trees.write(tmp_path / "file.yaml", "a: 1\n")):
        with pytest.raises(TaskError, match="is not a directory"):
            load_tasks(str(wrong))


def test_a_layout_can_be_named(tmp_path: Path) -> None:
    data = trees.MLEBench(tmp_path).add()
    assert find_tasks(data, layout="mle-bench").layout == "mle-bench"
    with pytest.raises(TaskError, match="mle-dojo: no data/public"):
        find_tasks(data, layout="mle-dojo")
    with pytest.raises(ValueError, match="layout='kaggle' must be one of sandmle, mle-bench"):
        find_tasks(data, layout="kaggle")


def test_names_of_paths_are_absolute(
    tmp_path: Path, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(many.parent)
    names = importers.names_at("./data")
    assert len(names) == 75
    assert names[3] == f"{many}::task-number-03"
    assert importers.names_at("data/task-number-03/") == (f"{many}/task-number-03",)
    assert importers.names_at(f"{many}::task-number-03") == names[3:4]
    assert load_task(names[3]).name == names[3]
    with pytest.raises(TaskError, match="has no task 'none'; it has task-number-00, "):
        importers.names_at(f"{many}::none")
    with pytest.raises(TaskError, match="has several tasks; name one of"):
        load_task(str(many))


def test_75_tasks_load_in_two_seconds(many: Path) -> None:
    start = time.process_time()
    tasks = load_tasks(str(many))
    seconds = time.process_time() - start
    assert len(tasks) == 75
    assert len({task.name for task in tasks}) == 75
    assert seconds < 2.0


@pytest.mark.parametrize(
    ("reference", "expected"),
    [("/data", True), ("./x", True), ("~/x", True), (".", True), ("x/y", True), ("wine", False)],
)
def test_what_is_a_path(reference: str, expected: bool) -> None:
    assert importers.is_path(reference) is expected


@pytest.mark.slow
def test_any_process_can_load_a_task_by_its_name(tmp_path: Path) -> None:
    name = load_tasks(str(trees.MLEBench(tmp_path).add()))[0].name
    code = f"from wmrl_gym.envs.mle.catalog import load_task; print(load_task({name!r}).version)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == load_task(name).version


@pytest.mark.slow
def test_nothing_of_the_benchmarks_is_imported(tmp_path: Path) -> None:
    """Nor a container engine, nor the network; PyYAML only where there is YAML."""
    trees.sandmle(tmp_path)
    code = f"""
import socket, sys
socket.socket.connect = None
from wmrl_gym.envs.mle.catalog import load_tasks
[task] = load_tasks({str(tmp_path)!r})
task.description, task.version, task.public
banned = {{"kaggle", "docker", "tensorflow", "mlebench", "mledojo", "mlgym", "yaml", "torch"}}
print(sorted(banned & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_without_pyyaml_the_extra_is_named(tmp_path: Path) -> None:
    data = trees.MLEBench(tmp_path).add()
    code = f"""
import sys
sys.modules["yaml"] = None
from wmrl_gym.envs.mle.catalog import load_tasks
load_tasks({str(data)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'needs PyYAML: pip install "wmrl-gym[importers]"' in done.stderr
