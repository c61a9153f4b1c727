"""The built-in tasks by name."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from wmrl_gym.envs.mle import sources
from wmrl_gym.envs.mle.catalog import available_task_names, load_task, task_names
from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.errors import MissingDependencyError, TaskError

CORE = ("breast-cancer", "diabetes", "digits", "wine-cultivar")


def test_there_are_seventeen_tasks_and_all_are_here() -> None:
    assert len(task_names()) == 17
    assert list(task_names()) == sorted(task_names())
    assert available_task_names() == task_names()


def test_every_metric_and_kind_occurs() -> None:
    tasks = [load_task(name) for name in task_names()]
    assert {task.metric for task in tasks} == set(METRICS)
    assert {task.kind for task in tasks} == {"binary", "multiclass", "regression"}


def test_a_name_gives_one_object() -> None:
    assert load_task("digits") is load_task("digits")


def test_an_unknown_name_is_answered_with_close_ones() -> None:
    with pytest.raises(TaskError, match=r"task='wine-cultivars' .* did you mean 'wine-cultivar'"):
        load_task("wine-cultivars")


def test_a_name_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(TaskError, match="there are: abalone, affairs"):
        load_task("zzzz")


@pytest.mark.parametrize("name", ["../tasks/digits", "", "digits.toml"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(TaskError, match="not a built-in task"):
        load_task(name)


def test_without_the_extra_four_tasks_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if only scikit-learn were installed; the real look-up serves it."""

    def find(name: str) -> ModuleSpec | None:
        return real(name) if name == "sklearn" else None

    real = sources.find_spec
    monkeypatch.setattr(sources, "find_spec", find)
    load_task.cache_clear()
    assert available_task_names() == CORE
    assert load_task("wine-cultivar").public.is_dir()
    with pytest.raises(MissingDependencyError, match=r'pip install "wmrl-gym\[tasks\]"'):
        load_task("abalone")


def test_a_package_without_the_file_is_named() -> None:
    source = sources.Source("scikit-learn", "sklearn", ("datasets/data/none.csv",))
    with pytest.raises(TaskError, match=r"'scikit-learn' has no file 'none.csv'"):
        _ = source.paths


@pytest.mark.slow
def test_reading_the_data_does_not_import_their_packages() -> None:
    modules = "river", "sklego", "statsmodels", "vega_datasets", "palmerpenguins"
    program = (
        "import sys; from wmrl_gym.envs.mle.catalog import load_task, task_names\n"
        "[load_task(name).source.read() for name in task_names()]\n"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr
