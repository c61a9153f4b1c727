"""Trains one arm with one seed, and measures its policy by real executions."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from wmrl_gym.benchmark.results import ArmResult, file_name
from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.evaluation import true_scores
from wmrl_gym.training.run import TrainingRun, load_agent, save_agent

CURVES = {
    "groups": "groups",
    "executions": "executions_real",
    "seconds": "elapsed",
    "score": "score",
    "rank_correlation": "rank_correlation",
    "residual": "residual",
    "anchor_weight": "anchor_weight",
}
"""Curves of a result, by the metric that they come from."""


@dataclass(frozen=True)
class ArmJob:
    """One arm, one seed, and where its result goes."""

    scenario: str
    arm: str
    config: TrainConfig
    directory: str

    @property
    def file(self) -> Path:
        """The file of its result."""
        return Path(self.directory) / file_name(self.arm, self.config.seed)

    def __str__(self) -> str:
        """Like `both, seed 3`."""
        return f"{self.arm}, seed {self.config.seed}"


def run_arm(job: ArmJob) -> ArmResult:
    """Train and evaluate; nothing is kept of the executions that were trained on.

    Evaluations of one study share a store: the same script is judged once.
    """
    torch.set_num_threads(1)
    config = job.config
    training = TrainingRun(config)
    before = save_agent(training.agent)
    cpu = _cpu_seconds()
    curve: dict[str, list[float]] = {name: [] for name in CURVES}
    try:
        while not training.finished:
            metrics = training.train_batch()
            for name, metric in CURVES.items():
                curve[name].append(float(metrics.get(metric, np.nan)))
        after = save_agent(training.agent)
    finally:
        training.close()
    own = _cpu_seconds() - cpu
    store = str(Path(job.directory) / "evaluations.sqlite")
    return ArmResult(
        scenario=job.scenario,
        arm=job.arm,
        seed=config.seed,
        setting=asdict(config),
        before=_evaluate(before, config, store),
        after=_evaluate(after, config, store),
        held_out=config.held_out_tasks,
        curve=_known(curve),
        executions=metrics.get("executions_real", np.nan),
        seconds=metrics["elapsed"],
        core_seconds=own + metrics.get("seconds_real", 0.0),
        groups=config.groups,
    )


def _evaluate(agent: bytes, config: TrainConfig, store: str) -> dict[str, float]:
    """Mean true score of a policy on each task."""
    scores = true_scores(
        load_agent(config, agent), config, tasks=config.evaluation_tasks, store=store
    )
    return {task: float(np.mean(of)) for task, of in scores.items()}


def _known(curve: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """The curves that were recorded at all."""
    return {name: values for name, values in curve.items() if not np.isnan(values).all()}


def _cpu_seconds() -> float:
    """CPU time of this process; that of the sandboxes is in `seconds_real`."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
