"""Scripts that are written for the tasks, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.executor import MLEExecutor
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import NVEC, describe
from wmrl_gym.envs.mle.script_check import syntax_error
from wmrl_gym.envs.mle.scripts import FAULTS, REFERENCES, Script, plain_script, sample_scripts
from wmrl_gym.envs.mle.scripts.plain import LABELS
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.outcomes import Execution, Outcome, Status

TASKS = {
    "binary": "penguin-sex-micro",
    "multiclass": "wine-cultivar-micro",
    "regression": "fuel-economy-micro",
    "multilabel": "yeast-functions-micro",
    "survival": "recidivism-micro",
}


def table(name: str) -> TableTask:
    task = load_task(name)
    assert isinstance(task, TableTask)
    return task


def reference(task: TableTask, name: str) -> str:
    return plain_script(task, REFERENCES[name][task.kind not in LABELS])


@pytest.fixture(scope="module")
def executor() -> Iterator[MLEExecutor]:
    executor = MLEExecutor()
    yield executor
    executor.close()


def run(executor: MLEExecutor, scripts: list[tuple[str, str]]) -> list[Outcome]:
    """Outcomes of (task, script)."""
    return executor.execute([Execution(task, script, timeout_s=30.0) for task, script in scripts])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dummy", "linear"])
def test_reference_scripts_reach_what_the_tasks_say(executor: MLEExecutor, name: str) -> None:
    # A survival is learned from its times alone here, which is not what its references do.
    names = [task for kind, task in TASKS.items() if kind != "survival" or name == "dummy"]
    outcomes = run(executor, [(task, reference(table(task), name)) for task in names])
    for task, outcome in zip(names, outcomes, strict=True):
        assert outcome.status is Status.COMPLETED, outcome.feedback
        assert outcome.details["metric"] == pytest.approx(table(task).references[name], rel=0.02)


@pytest.mark.slow
def test_a_script_that_reads_characters(executor: MLEExecutor) -> None:
    task = table("surname-language-micro")
    script = plain_script(task, REFERENCES["linear"][0], characters=True)
    [outcome] = run(executor, [(task.name, script)])
    assert outcome.status is Status.COMPLETED, outcome.feedback
    assert outcome.details["metric"] == pytest.approx(task.references["linear"], rel=0.02)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_changes_every_script(fault: str) -> None:
    rng = np.random.default_rng(0)
    wine = table("wine-cultivar-micro")
    pipelines = [render(describe(rng.integers(NVEC)), wine) for _ in range(20)]
    for task, scripts in (
        (wine, [reference(wine, "forest"), *pipelines]),
        (table(TASKS["multilabel"]), [reference(table(TASKS["multilabel"]), "linear")]),
        (table(TASKS["survival"]), [reference(table(TASKS["survival"]), "linear")]),
    ):
        for script in scripts:
            faulty = FAULTS[fault].edit(script, task, rng)
            assert faulty != script
            # One that was cut off may compile, down to nothing that is missing but the end.
            if fault != "malformed/cut_off":
                assert bool(syntax_error(faulty)) == fault.startswith("malformed/")


_ENDS = {
    "crash": {Status.CRASHED},
    "no_result": {Status.NO_RESULT},
    "invalid": {Status.INVALID_RESULT},
    "memory": {Status.OUT_OF_MEMORY},
    "weak": {Status.COMPLETED},
}


@pytest.mark.slow
def test_faults_end_as_their_names_say(executor: MLEExecutor) -> None:
    task = table("penguin-sex-micro")
    rng = np.random.default_rng(1)
    script = reference(task, "linear")
    names = [name for name in FAULTS if name.partition("/")[0] in _ENDS]
    scripts = [(task.name, FAULTS[name].edit(script, task, rng)) for name in names]
    for name, outcome in zip(names, run(executor, scripts), strict=True):
        assert outcome.status in _ENDS[name.partition("/")[0]], (name, outcome.feedback)


@pytest.mark.parametrize("fault", ["timeout/sleep", "timeout/loop"])
def test_some_scripts_never_end(executor: MLEExecutor, fault: str) -> None:
    task = table("penguin-sex-micro")
    script = FAULTS[fault].edit(reference(task, "dummy"), task, np.random.default_rng(0))
    [outcome] = executor.execute([Execution(task.name, script, timeout_s=1.0)])
    assert outcome.status is Status.TIMED_OUT


def test_a_sample_is_varied_and_reproducible() -> None:
    task = table("penguin-sex-micro")
    drawn = sample_scripts(task, 40, np.random.default_rng(5), reference="forest")
    assert drawn == sample_scripts(task, 40, np.random.default_rng(5), reference="forest")
    assert len({script.text for script in drawn}) == 40
    assert drawn[0] == Script(reference(task, "forest"), "reference/forest")
    origins = [script.origin for script in drawn]
    assert origins.count("pipeline") > 5
    assert origins.count("plain") > 1
    assert sum(origin in FAULTS for origin in origins) > 5


def test_every_kind_of_task_has_a_sample() -> None:
    for name in (*TASKS.values(), "word-valence-micro"):
        drawn = sample_scripts(table(name), 12, np.random.default_rng(0))
        assert {"pipeline", "plain"} & {script.origin for script in drawn}
