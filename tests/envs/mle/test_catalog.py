"""The built-in tasks by name."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from tests.envs.mle.toy_task import table_task
from wmrl_gym.envs.mle.catalog import available_task_names, load_task, task_names
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.sources import Source, source
from wmrl_gym.errors import MissingDependencyError, TaskError

CORE = (
    *("breast-cancer", "diabetes", "digits"),
    *("python-manual", "python-source", "wine-cultivar"),
)
"""Tasks whose data come with what the library requires."""


def test_there_are_forty_tasks_and_more_and_all_are_here() -> None:
    assert len(task_names()) >= 40
    assert list(task_names()) == sorted(task_names())
    assert available_task_names() == task_names()


def test_every_metric_and_kind_occurs() -> None:
    tasks = [table_task(name) for name in task_names()]
    assert {task.metric for task in tasks} == set(METRICS)
    kinds = {"binary", "multiclass", "regression", "multilabel", "survival"}
    assert {task.kind for task in tasks} == kinds


def test_every_sort_of_data_occurs() -> None:
    tags = {tag for name in task_names() for tag in load_task(name).tags}
    assert tags >= {"tabular", "image", "text", "series", "forecast", "survival", "language_model"}


def test_a_name_gives_one_object() -> None:
    assert load_task("digits") is load_task("digits")


@pytest.mark.parametrize("name", task_names())
def test_every_task_has_a_small_size(name: str) -> None:
    whole, small = table_task(name), table_task(f"{name}-micro")
    assert small.rows is not None
    assert small.rows <= 2500
    assert (small.title, small.metric, small.targets) == (whole.title, whole.metric, whole.targets)
    assert small.version != whole.version


def test_the_small_sizes_have_names_too() -> None:
    assert task_names(micro=True) == tuple(f"{name}-micro" for name in task_names())
    assert available_task_names(micro=True) == task_names(micro=True)


def test_an_unknown_name_is_answered_with_close_ones() -> None:
    with pytest.raises(TaskError, match=r"task='wine-cultivars' .* did you mean 'wine-cultivar'"):
        load_task("wine-cultivars")


def test_a_name_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(TaskError, match="there are: abalone, adult-income, affairs"):
        load_task("zzzz")


@pytest.mark.parametrize("name", ["", "digits.toml", "-micro", "digits-MICRO"])
def test_a_name_is_exact(name: str) -> None:
    with pytest.raises(TaskError, match="is no built-in task"):
        load_task(name)


def test_a_path_is_never_a_built_in_task() -> None:
    with pytest.raises(TaskError, match="is not a directory"):
        load_task("../tasks/digits")


def test_without_the_extra_six_tasks_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if only scikit-learn were installed; the real look-up serves it."""

    def find(name: str) -> ModuleSpec | None:
        return real(name) if name in ("sklearn", "pydoc") else None

    real = source.find_spec
    monkeypatch.setattr(source, "find_spec", find)
    load_task.cache_clear()
    assert available_task_names() == CORE
    assert load_task("wine-cultivar").public.is_dir()
    for name in ("abalone", "image-denoising"):  # the second lacks what reads its images
        with pytest.raises(MissingDependencyError, match=r'pip install "wmrl-gym\[tasks\]"'):
            load_task(name)


@pytest.mark.parametrize("file", ["datasets/data/none.csv", "datasets/none-*.csv"])
def test_a_package_without_the_file_is_named(file: str) -> None:
    with pytest.raises(TaskError, match=r"'scikit-learn' has no file 'none"):
        _ = Source("scikit-learn", "sklearn", (file,)).paths


@pytest.mark.slow
def test_reading_the_data_does_not_import_their_packages() -> None:
    program = (
        "import sys; from wmrl_gym.envs.mle.catalog import load_task, task_names\n"
        "tasks = [load_task(name) for name in task_names()]\n"
        "[task.source.read() for task in tasks]\n"
        "packages = {task.source.module for task in tasks} - {'sklearn', 'pydoc'}\n"
        "print(sorted(packages & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr
