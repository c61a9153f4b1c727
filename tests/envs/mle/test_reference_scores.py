"""The references of the catalogue are what plain solutions reach, measured again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.reference_scores import Measured, measure, write
from benchmarks.reference_solutions import excess_events, names
from tests.envs.mle.toy_task import table_task
from wmrl_gym import Execution
from wmrl_gym.envs.mle import catalog
from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.executor import ScriptRun
from wmrl_gym.envs.mle.grading import grade
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import DIMENSIONS

SIZES = [*task_names(), *task_names(micro=True)]


@pytest.mark.parametrize("name", ["penguin-sex-micro", "recidivism", "fuel-economy"])
def test_the_references_can_be_measured_again(name: str) -> None:
    # Other versions of scikit-learn and other processors grow slightly different trees.
    task = load_task(name)
    assert measure(task).scores == pytest.approx(dict(task.references), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["film-genres-micro", "python-source-micro", "word-valence-micro"])
def test_the_references_of_texts_can_be_measured_again(name: str) -> None:
    task = load_task(name)
    assert measure(task).scores == pytest.approx(dict(task.references), rel=0.05)


@pytest.mark.parametrize("name", SIZES)
def test_every_task_has_its_references_and_their_seconds(name: str) -> None:
    task = table_task(name)
    assert tuple(task.references) == tuple(task.seconds) == names(task)
    assert {"dummy", "linear"} < set(task.references)
    # Continuing a text is counting: trees have no columns there.
    is_text = name.removesuffix(catalog.MICRO) in ("python-manual", "python-source")
    assert is_text or "boosted" in task.references


BOOSTED = {dimension.name: dimension.options[0] for dimension in DIMENSIONS} | {
    "model": "boosting",
    "capacity": "medium",
    "regularisation": "default",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["airport-state", "mnist-small"])
def test_boosting_as_a_script_takes_two_seconds_at_most(name: str) -> None:
    """Where boosting takes longest, in processor time, of which a busy machine needs more."""
    task = table_task(name + catalog.MICRO)
    run = ScriptRun()
    script = render(BOOSTED, task)
    result = run.sandbox.run(run.job(Execution(task.name, script, task_version=task.version)))
    assert result.cpu_s is not None
    assert result.cpu_s < 2 * 1.5
    score = grade(task, result.outputs[task.submission]).score
    assert score is not None
    assert score > 0.6


@pytest.mark.parametrize("name", SIZES)
def test_the_best_reference_is_better_than_the_dummy(name: str) -> None:
    task = load_task(name)
    best = (max if task.higher_is_better else min)(task.references.values())
    assert best != task.references["dummy"]


@pytest.mark.parametrize("name", task_names())
def test_plain_solutions_are_quick(name: str) -> None:
    whole, small = table_task(name).seconds, table_task(f"{name}-micro").seconds
    assert max(whole[solution] for solution in whole if solution != "forest") < 20
    assert max(small[solution] for solution in small if solution != "forest") < 2


def test_excess_events_of_four_rows() -> None:
    # At risk 4, 3, 2, 1; events at 1 and 3: the cumulative hazard is 1/4, 1/4, 3/4, 3/4.
    excess = excess_events(np.array([3.0, 1.0, 4.0, 2.0]), np.array([1.0, 1.0, 0.0, 0.0]))
    assert excess.tolist() == [0.25, 0.75, -0.75, -0.25]


def test_writing_replaces_what_was_measured_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "catalog.py"))
    described = 'title = "t"\n\n[columns]\na = "b"\n'
    path = tmp_path / "tasks" / "toy.toml"
    path.parent.mkdir()
    path.write_text(described + "\n[references]\ndummy = 3.0\n\n[micro]\nrows = 9\n")
    write("toy", Measured({"dummy": 2.0}, {"dummy": 0.1}), Measured({"dummy": 4.0}, {"dummy": 0.0}))
    assert path.read_text() == (
        f"{described}\n[references]\ndummy = 2.0\n\n[seconds]\ndummy = 0.1\n\n[micro]\nrows = 9\n"
        "references = { dummy = 4.0 }\nseconds = { dummy = 0.0 }\n"
    )
    before = path.read_text()
    write("toy", Measured({"dummy": 2.0}, {"dummy": 0.1}), Measured({"dummy": 4.0}, {"dummy": 0.0}))
    assert path.read_text() == before


def test_only_tables_are_measured() -> None:
    with pytest.raises(TypeError, match="not a table"):
        measure(NoTable())  # type: ignore[arg-type]  # that it is no task is the point


class NoTable:
    name = "none"
