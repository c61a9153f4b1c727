"""Short names of imported tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from wmrl_gym.envs.mle import importers
from wmrl_gym.envs.mle.importers import ImportOptions
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.errors import TaskError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bench(tmp_path: Path) -> trees.MLEBench:
    bench = trees.MLEBench(tmp_path / "bench")
    for name in ("task-one", "task-two"):
        bench.add(name, board=trees.RMSE_BOARD)
    return bench


def test_there_are_none_at_first() -> None:
    assert importers.imported_names() == ()
    assert not importers.is_imported("task-one")
    with pytest.raises(TaskError, match="'task-one' is no imported task"):
        importers.load_imported("task-one")


def test_names_last_and_remember_options(bench: trees.MLEBench) -> None:
    options = ImportOptions(higher_is_better=True, definitions=bench.definitions, grading_s=7.0)
    done = importers.register(str(bench.data), options=options)
    assert (done.layout, list(done.tasks), done.problems) == (
        "mle-bench",
        ["task-one", "task-two"],
        {},
    )
    assert importers.imported_names() == ("task-one", "task-two")
    task = importers.load_imported("task-two")
    assert isinstance(task, ImportedTask)
    assert (task.name, task.options) == ("task-two", options)


def test_registering_twice_changes_the_options(bench: trees.MLEBench) -> None:
    for direction in (True, False):
        options = ImportOptions(higher_is_better=direction)
        importers.register(f"{bench.data}::task-one", options=options)
        assert importers.load_imported("task-one").higher_is_better is direction
    assert importers.imported_names() == ("task-one",)


def test_taken_names_are_prefixed(bench: trees.MLEBench, tmp_path: Path) -> None:
    importers.register(str(bench.data), taken=["task-one"])
    assert importers.imported_names() == ("mle-bench-task-one", "task-two")
    other = trees.MLEBench(tmp_path / "other")
    other.add("task-two")
    third = trees.MLEBench(tmp_path / "third")
    third.add("task-two")
    for tree in (other, third, other, bench):
        importers.register(str(tree.data), taken=["task-one"])
    names = ("mle-bench-task-one", "mle-bench-task-two", "mle-bench-task-two-2", "task-two")
    assert importers.imported_names() == names


def test_a_name_of_ones_own(bench: trees.MLEBench) -> None:
    done = importers.register(f"{bench.data}::task-one", name="mine")
    assert list(done.tasks) == ["mine"]
    for wrong, message in (("wine", "built-in"), ("a/b", "look like a path"), (" ", "a path")):
        with pytest.raises(ValueError, match=message):
            importers.register(f"{bench.data}::task-one", name=wrong, taken=["wine"])
    with pytest.raises(ValueError, match="is for one task, and there are 2"):
        importers.register(str(bench.data), name="both")


def test_broken_tasks_get_no_names(bench: trees.MLEBench) -> None:
    (bench.definitions / "task-one" / "config.yaml").write_text("[")
    done = importers.register(str(bench.data))
    assert list(done.tasks) == ["task-two"]
    assert "cannot be read" in done.problems["task-one"]
    with pytest.raises(TaskError, match="cannot be read"):
        importers.register(f"{bench.data}::task-one")
    assert importers.imported_names() == ("task-two",)


def test_a_broken_registry_says_what_to_do(bench: trees.MLEBench, cache: Path) -> None:
    importers.register(str(bench.data))
    (cache / "imported.json").write_text('{"a": {}}')
    with pytest.raises(TaskError, match=r"remove .*imported\.json"):
        importers.imported_names()
