"""Finding tasks at a path, whatever the layout, and saying what was missing."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import pytest

from tests.envs.mle.importers import trees
from wmrl_gym.envs.mle import importers
from wmrl_gym.envs.mle.catalog import load_task, load_tasks
from wmrl_gym.envs.mle.env import MLEEnv
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


def _broken(root: Path, file: str, content: str | None) -> Path:
    """Two competitions, of which one lacks a file or has another in its place."""
    bench = trees.MLEBench(root)
    for name in ("good-one", "broken-one"):
        bench.add(name, parts=trees.regression(rows=30))
    place = bench.definitions / "broken-one" / file
    place.unlink() if content is None else place.write_text(content)
    return bench.data


@pytest.mark.parametrize(
    ("tree", "kept", "reasons"),
    [
        (lambda root: _broken(root, "config.yaml", "["), ["good-one"], ["cannot be read"]),
        (lambda root: _broken(root, "grade.py", None), ["good-one"], ["grade.py"]),
        (
            trees.mlgym,
            ["diabetesProgression", "guessing"],
            ["ModelSubmissionTasks.*cannot be imported", "is not on this machine"],
        ),
    ],
)
def test_a_task_that_cannot_be_read_is_left_out_and_the_others_stay(
    tmp_path: Path, tree: Callable[[Path], Path], kept: list[str], reasons: list[str]
) -> None:
    path = tree(tmp_path)
    with pytest.warns(UserWarning, match=f"left out {len(reasons)} of") as warned:
        env = gym.make("WMRL-MLE-v0", task=str(path))
    [told] = [str(w.message) for w in warned]
    for reason in reasons:
        assert re.search(reason, told), told
    assert isinstance(env.unwrapped, MLEEnv)
    assert {env.reset(seed=seed)[1]["task_index"] for seed in range(12)} == set(range(len(kept)))
    for name in kept:
        env.reset(options={"task": f"{path}::{name}"})
    env.close()


def test_a_directory_of_which_no_task_can_be_read_says_why_each_cannot(tmp_path: Path) -> None:
    path = _broken(tmp_path, "grade.py", None)
    (tmp_path / "mlebench" / "competitions" / "good-one" / "config.yaml").write_text("[")
    with pytest.raises(TaskError, match=r"(?s)broken-one: .*grade\.py.*good-one: .*cannot be read"):
        load_tasks(str(path))
    with pytest.raises(TaskError, match=r"grade\.py"):
        load_tasks(f"{path}::broken-one")


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
