"""Scripts of pipelines: they compile, hold what was chosen and no more, and run for real."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.toy_task import toy_task
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.executor import MLEExecutor
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import DIMENSIONS, NVEC, describe
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.outcomes import Execution, Outcome, Status

PLAIN = {
    "imputation": "median",
    "encoding": "one_hot",
    "scaling": "standard",
    "expansion": "none",
    "model": "linear",
    "capacity": "small",
    "regularisation": "default",
    "validation": "none",
    "target": "plain",
}
VARIATIONS = [
    {dimension.name: option} for dimension in DIMENSIONS for option in dimension.options
] + [{"model": model, "validation": "hold_out"} for model in DIMENSIONS[4].options]
TARGETS: dict[str, dict[str, Any]] = {
    "roc_auc": {"kind": "binary", "classes": ("no", "yes")},
    "average_precision": {"kind": "binary", "classes": ("no", "yes")},
    "log_loss": {"kind": "multiclass", "classes": ("9", "10", "2")},
    "bits": {"kind": "multiclass", "classes": ("9", "10", "2")},
    "accuracy": {"kind": "binary", "classes": ("0", "1")},
    "macro_f1": {"kind": "multiclass", "classes": ("a", "b", "c")},
    "qwk": {"kind": "multiclass", "classes": ("0", "1", "2")},
    "rmse": {"kind": "regression"},
    "rmsle": {"kind": "regression"},
    "mae": {"kind": "regression"},
}


def frame(classes: tuple[str, ...]) -> pd.DataFrame:
    """240 rows: nine numbers, one of them with gaps, and two texts; `y` follows from them."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(240, 9)), columns=[f"x{n}" for n in range(9)])
    colour = rng.choice(["red", "green", "blue"], 240)
    signal = 2 * numbers["x0"] + (colour == "red") * 2 + numbers["x1"] ** 2
    numbers.loc[::11, "x3"] = np.nan
    texts = {"colour": colour, "shape": rng.choice(["round", "square"], 240)}
    target = np.exp(signal / 3) if not classes else pd.qcut(signal, len(classes), labels=classes)
    return numbers.assign(**texts, y=target)


def task_for(directory: Path, metric: str) -> Task:
    classes = TARGETS[metric].get("classes", ())
    worse, better = (0.1, 0.9) if metric in ("roc_auc", "accuracy", "macro_f1", "qwk") else (9, 0.1)
    return toy_task(
        directory,
        frame(classes),
        name=f"toy-{metric}",
        metric=metric,
        references={"worse": worse, "better": better},
        **TARGETS[metric],
    )


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    return {metric: task_for(tmp_path_factory.mktemp(metric), metric) for metric in TARGETS}


@pytest.fixture(scope="module")
def executor() -> Iterator[MLEExecutor]:
    executor = MLEExecutor(workers=2)
    yield executor
    executor.close()


def run(executor: MLEExecutor, task: Task, choices: list[dict[str, str]]) -> list[Outcome]:
    """Run pipelines that differ from `PLAIN` in `choices`, on a task of the catalogue or not."""
    executions = [Execution(task.name, render({**PLAIN, **c}, task), timeout_s=60) for c in choices]
    return executor.execute(executions)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tasks: dict[str, Task]) -> None:
    """Let the executor find the toy tasks by their names."""
    by_name = {task.name: task for task in tasks.values()}
    monkeypatch.setattr("wmrl_gym.envs.mle.executor.load_task", by_name.__getitem__)


@pytest.mark.parametrize("metric", TARGETS)
def test_every_choice_compiles_on_every_kind_of_task(metric: str, tasks: dict[str, Task]) -> None:
    rng = np.random.default_rng(0)
    chosen = [{**PLAIN, **variation} for variation in VARIATIONS]
    chosen += [describe(rng.integers(NVEC)) for _ in range(200)]
    for choices in chosen:
        script = render(choices, tasks[metric])
        compile(script, "main.py", "exec")
        assert script == render(choices, tasks[metric])
        assert max(map(len, script.splitlines())) <= 110


@pytest.mark.parametrize("metric", ["log_loss", "rmsle"])
def test_nothing_is_imported_or_named_in_vain(metric: str, tasks: dict[str, Task]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        tree = ast.parse(render(describe(rng.integers(NVEC)), tasks[metric]))
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        stored, loaded = set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                (stored if isinstance(node.ctx, ast.Store) else loaded).add(node.id)
        assert imported | stored <= loaded


def test_the_plain_pipeline_reads_as_one_would_write_it() -> None:
    assert (
        render({**PLAIN, "model": "tree"}, load_task("breast-cancer"))
        == """\
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

train = pd.read_csv("../input/train.csv")
test = pd.read_csv("../input/test.csv")
X = train.drop(columns=["id", "diagnosis"])
y = train["diagnosis"]
X_test = test[X.columns]

model = make_pipeline(
    SimpleImputer(strategy="median"),
    StandardScaler(),
    DecisionTreeClassifier(min_samples_leaf=5, max_depth=2, random_state=0),
)
model.fit(X, y)

submission = pd.read_csv("../input/sample_submission.csv")
submission[[str(label) for label in model.classes_]] = model.predict_proba(X_test)
submission.to_csv("submission.csv", index=False)
"""
    )


@pytest.mark.parametrize("regularisation", ["low", "default", "high"])
def test_a_search_tries_the_neighbours_of_the_choice(
    regularisation: str, tasks: dict[str, Task]
) -> None:
    chosen = {**PLAIN, "model": "boosting", "regularisation": regularisation}
    middle = {"low": 0.2, "default": 0.1, "high": 0.05}[regularisation]
    assert f"learning_rate={middle}" in render(chosen, tasks["rmse"])
    ladder = [0.4, 0.2, 0.1, 0.05, 0.02]
    tried = tuple(ladder[ladder.index(middle) - 1 :][:3])
    searched = render({**chosen, "validation": "cross_validation"}, tasks["rmse"])
    assert f"for learning_rate in {tried}" in searched


def test_a_date_becomes_numbers() -> None:
    script = render(PLAIN, load_task("seattle-weather"))
    assert 'pd.to_datetime(frame["date"])' in script
    assert 'columns=["id", "date", "weather"]' in script
    assert "OneHotEncoder" not in script  # the date is the only text


@pytest.mark.slow
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("metric", TARGETS)
def test_every_model_gives_a_valid_submission_for_every_metric(
    metric: str, tasks: dict[str, Task], executor: MLEExecutor
) -> None:
    variations = [
        {"model": model, "validation": validation, "target": target}
        for model in DIMENSIONS[4].options
        for validation, target in (("none", "plain"), ("hold_out", "adjusted"))
    ]
    outcomes = run(executor, tasks[metric], variations)
    for variation, outcome in zip(variations, outcomes, strict=True):
        assert outcome.status is Status.COMPLETED, (variation, outcome.feedback)


@pytest.mark.slow
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("metric", ["roc_auc", "rmsle"])
def test_every_option_runs_where_data_allow_it(
    metric: str, tasks: dict[str, Task], executor: MLEExecutor
) -> None:
    outcomes = run(executor, tasks[metric], VARIATIONS)
    failed = [v for v, o in zip(VARIATIONS, outcomes, strict=True) if o.status != Status.COMPLETED]
    assert failed == [{"imputation": "none"}]  # the linear model meets the gaps in x3


@pytest.mark.slow
@pytest.mark.usefixtures("known")
def test_labels_and_probabilities_are_matched(
    tasks: dict[str, Task], executor: MLEExecutor
) -> None:
    """Classes that sort one way as numbers, another as text, and stand in a third order."""
    variations = [{"model": "random_forest"}, {"capacity": "medium"}, {"model": "support_vectors"}]
    for outcome in run(executor, tasks["log_loss"], variations):
        assert outcome.details["metric"] < 0.9  # guessing gives ln 3 = 1.10, a mix-up more


@pytest.mark.slow
@pytest.mark.usefixtures("known")
def test_equal_scripts_give_equal_metrics(tasks: dict[str, Task], executor: MLEExecutor) -> None:
    randomised = {"encoding": "target", "model": "neural_network"}
    first, second = run(executor, tasks["rmse"], [randomised, randomised])
    assert first.details["metric"] == second.details["metric"]


@pytest.mark.slow
def test_the_best_pipeline_differs_between_tasks(executor: MLEExecutor) -> None:
    linear, neighbours = {"model": "linear"}, {"model": "nearest_neighbours"}
    scores = {
        name: [outcome.score for outcome in run(executor, load_task(name), [linear, neighbours])]
        for name in ("bananas", "diabetes")
    }
    assert scores["bananas"][0] < scores["bananas"][1] - 0.1
    assert scores["diabetes"][0] > scores["diabetes"][1] + 0.02
