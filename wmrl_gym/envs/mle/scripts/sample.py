"""A group of varied scripts for one task, as an agent that is still learning might write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.pipeline_script import has_pipelines, render
from wmrl_gym.envs.mle.pipeline_space import CAPACITIES, FAMILIES, NVEC, describe
from wmrl_gym.envs.mle.scripts.faults import FAULTS
from wmrl_gym.envs.mle.scripts.plain import LABELS, REFERENCES, Model, plain_script, text_columns
from wmrl_gym.envs.mle.table_task import TableTask

FAULTY = 0.4
"""Share of faulty scripts beside the one reference of a group."""
_PIPELINES = 0.7
"""Share of pipelines among what works, where the task has them; the others are plain."""
_MOST_TRIES = 200


@dataclass(frozen=True)
class Script:
    """A script and how it was made."""

    text: str
    origin: str
    """`reference/<name>`, `pipeline`, `plain`, or the name of a fault."""


def sample_scripts(
    task: TableTask, count: int, rng: np.random.Generator, *, reference: str = "dummy"
) -> list[Script]:
    """Draw `count` scripts, no two of them equal.

    Args:
        task: The task.
        count: How many, at least 1.
        rng: Source of chance.
        reference: The solution of reference that comes first, a key of `REFERENCES`.

    Raises:
        ValueError: If there are not that many different ones.
    """
    first = plain_script(task, _of_kind(task, REFERENCES[reference]))
    scripts = {first: Script(first, f"reference/{reference}")}
    for _ in range(_MOST_TRIES * count):
        if len(scripts) >= count:
            return list(scripts.values())
        script = _faulty(task, rng) if rng.random() < FAULTY else _working(task, rng)
        scripts.setdefault(script.text, script)
    raise ValueError(f"count={count} is more than there are different scripts for {task.name}")


def _faulty(task: TableTask, rng: np.random.Generator) -> Script:
    weights = np.array([fault.weight for fault in FAULTS.values()])
    name = str(rng.choice(list(FAULTS), p=weights / weights.sum()))
    return Script(FAULTS[name].edit(_working(task, rng).text, task, rng), name)


def _working(task: TableTask, rng: np.random.Generator) -> Script:
    """A script without a planted fault; it may fail all the same."""
    if has_pipelines(task) and rng.random() < _PIPELINES:
        return Script(render(describe(rng.integers(NVEC)), task), "pipeline")
    characters = bool("text" in task.tags and text_columns(task) and rng.random() < 0.5)
    model = _of_kind(task, REFERENCES["linear"]) if characters else _random_model(task, rng)
    return Script(plain_script(task, model, characters=characters), "plain")


def _of_kind(task: TableTask, models: tuple[Model, Model]) -> Model:
    return models[0] if task.kind in LABELS else models[1]


def _random_model(task: TableTask, rng: np.random.Generator) -> Model:
    """An estimator of a random family, capacity and strength."""
    needs = METRICS[task.metric].needs_probabilities
    families = [family for family in FAMILIES.values() if family.probabilities or not needs]
    family = families[int(rng.integers(len(families)))]
    estimator = family.classifier if task.kind in LABELS else family.regressor
    arguments: Mapping[str, object] = {
        estimator.strength: estimator.strengths[int(rng.integers(5))],
        **family.capacities[int(rng.integers(len(CAPACITIES)))],
        **estimator.fixed,
    }
    written = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return Model(estimator.module, f"{estimator.name}({written})")
