"""The end of `wmrl-gym train --agent trl`: the model's true score, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from wmrl_gym.cli.evaluate import cost_table
from wmrl_gym.cli.evaluate_llm_config import EvaluateLLMConfig
from wmrl_gym.cli.llm_evaluation import LLMEvaluation
from wmrl_gym.cli.llm_tables import before_and_after
from wmrl_gym.cli.train_trl_config import PIPELINE_MODEL, SMOLLM2, TrainTRLConfig
from wmrl_gym.errors import RunError
from wmrl_gym.training.directory import RunDirectory

INITIAL, TRAINED = "initial", "model"
"""Directories of a run with the model before and after training."""


def report(run: RunDirectory, *, episodes: int | None = None) -> None:
    """Evaluate both models by real executions, print the tables, write `result.json`.

    What was evaluated before is not played again.

    Raises:
        RunError: If nothing has been trained yet, or an attempt has no score.
        ValueError: If `episodes` is below 1.
    """
    if not (run.path / TRAINED).is_dir():
        raise RunError(f"run={run.path} has no trained model: train it first, to its end")
    config = run.config(TrainTRLConfig)
    count = config.real_episodes if episodes is None else episodes
    trained = f"transformers:{run.path / TRAINED}"
    before = _scores(run, config, initial_model(run.path, config), "before", count)
    after = _scores(run, config, trained, "after", count)
    if before is None or after is None:
        print(f"stopped; continue with: wmrl-gym evaluate --run {run.path}")
        return
    cost = execution_cost(run)
    console = Console()
    console.print(before_and_after(before, after))
    console.print(cost_table(cost))
    run.write_result({"before": before, "after": after, "cost": cost})


def initial_model(run: Path, config: TrainTRLConfig) -> str:
    """Name of the model that training started with."""
    if config.model == PIPELINE_MODEL:
        return f"transformers:{run / INITIAL}"
    return SMOLLM2 if config.model == SMOLLM2 else f"transformers:{config.model}"


def execution_cost(run: RunDirectory) -> dict[str, float]:
    """What training took, and what it would have taken to execute everything.

    The estimate takes the avoided executions at the mean duration of the real ones of this
    run, with all workers busy all the time: it flatters executing everything.
    """
    lines = list(run.metrics())
    real, avoided = lines[-1]["wmrl/executions_real"], lines[-1]["wmrl/executions_avoided"]
    seconds = sum(line["step_time"] for line in lines)
    mean = lines[-1]["wmrl/seconds_real"] / real if real else 0.0
    return {
        "executions_done": real,
        "executions_avoided": avoided,
        "seconds": seconds,
        "seconds_if_all_executed": seconds + avoided * mean / lines[-1]["workers"],
    }


def _scores(
    run: RunDirectory, config: TrainTRLConfig, model: str, name: str, count: int
) -> dict[str, list[float]] | None:
    """Scores on each task; `None` if the user has stopped before the end."""
    asked = _evaluation_config(config, model, count)
    directory = run.path / "evaluation" / f"{name}-{count}"
    directory.mkdir(parents=True, exist_ok=True)
    evaluation = LLMEvaluation(asked, directory, store=run.store)
    try:
        evaluation.open()
        evaluation.play(Console())
    finally:
        evaluation.close()
    if evaluation.failures:
        attempt, reason = next(iter(evaluation.failures.items()))
        raise RunError(
            f"{attempt} has no score: {reason}; try again with: wmrl-gym evaluate --run {run.path}"
        )
    if evaluation.left():
        return None
    return {one.task: one.scores for one in evaluation.results()}


def _evaluation_config(config: TrainTRLConfig, model: str, count: int) -> EvaluateLLMConfig:
    pipeline = config.model == PIPELINE_MODEL
    options: dict[str, Any] = {
        name: getattr(config, name)
        for name in ("tasks", "env", "temperature", "turn_tokens", "timeout_s", "sandbox",
                     "workers", "seed")
    }  # fmt: skip
    return EvaluateLLMConfig(
        model=model,
        language="pipeline" if pipeline else "chat",
        attempts=count,
        max_turns=1 if pipeline else config.max_turns,
        places=config.samples,
        **options,
    )
