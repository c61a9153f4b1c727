"""`wmrl-gym evaluate`: the true score of a run's policy, before and after."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from wmrl_gym.errors import RunError
from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.directory import RunDirectory
from wmrl_gym.training.evaluation import Scores, mean_with_interval, true_scores
from wmrl_gym.training.run import load_agent


@dataclass(frozen=True)
class Evaluate:
    """Measure a run's policy by real executions, before and after training."""

    run: Path
    """Directory of the run."""
    agent: Literal["trained"] = "trained"
    """"trained" is the policy of a run of wmrl-gym train; "llm" is any language model, and has
    options of its own: wmrl-gym evaluate --agent llm --help. So have "expert", "random" and
    "saved", which play the manipulation tasks."""
    episodes: int | None = None
    """Real episodes on each task; as many as in the run's config if not given."""

    def __call__(self) -> None:
        """Execute, print the table and write `result.json`."""
        run = RunDirectory(self.run)
        run.require_existing()
        if run.values().get("agent") == "trl":
            from wmrl_gym.cli.llm_report import report as report_llm

            report_llm(run, episodes=self.episodes)
            return
        torch.set_num_threads(1)
        report(run, episodes=self.episodes)


def report(run: RunDirectory, *, episodes: int | None = None) -> None:
    """Evaluate a run, print the table, write `result.json`.

    Raises:
        RunError: If nothing has been trained yet.
        ValueError: If `episodes` is below 1.
    """
    if episodes is not None and episodes < 1:
        raise ValueError(f"episodes={episodes} must be at least 1")
    if not run.checkpoint.exists():
        raise RunError(f"run={run.path} has no checkpoint: train it first")
    config = run.config(TrainConfig)
    if episodes is not None:
        config = replace(config, evaluation_episodes=episodes)
    before = _scores(run, config, trained=False)
    after = _scores(run, config, trained=True)
    cost = execution_cost(run)
    console = Console()
    console.print(_score_table(config, before, after))
    console.print(cost_table(cost))
    run.write_result({"before": before, "after": after, "cost": cost})


def execution_cost(run: RunDirectory) -> dict[str, float]:
    """What training took, and what it would have taken to execute everything.

    The estimate takes the avoided executions at the mean duration of the real ones of this
    run, with all workers busy all the time: it flatters executing everything.
    """
    last = list(run.metrics())[-1]
    saved = last.get("seconds_saved", 0.0)
    return {
        "groups": last["groups"],
        "executions_done": last["executions_real"],
        "executions_avoided": last["executions_avoided"],
        "seconds": last["elapsed"],
        "seconds_if_all_executed": last["elapsed"] + saved,
    }


def _scores(run: RunDirectory, config: TrainConfig, *, trained: bool) -> Scores:
    saved = _trained_agent(run) if trained else run.initial_policy.read_bytes()
    agent = load_agent(config, saved)
    return true_scores(agent, config, tasks=config.evaluation_tasks, store=str(run.store))


def _trained_agent(run: RunDirectory) -> bytes:
    agent: bytes = pickle.loads(run.checkpoint.read_bytes())["agent"]
    return agent


def _score_table(config: TrainConfig, before: Scores, after: Scores) -> Table:
    table = Table(
        "", "before", "after", title="True score by real executions (mean, 95 % interval)"
    )
    for of, label in ((config.tasks, "trained on"), (config.held_out_tasks, "held out")):
        tasks = [task for task in of if task in before]
        for task in tasks:
            table.add_row(f"{task}", _cell(before[task]), _cell(after[task]))
        if tasks:
            table.add_row(
                f"all tasks {label}",
                *(_cell([s for t in tasks for s in scores[t]]) for scores in (before, after)),
                style="bold",
                end_section=True,
            )
    if "" in before:
        table.add_row("all episodes", _cell(before[""]), _cell(after[""]), style="bold")
    return table


def _cell(scores: list[float]) -> str:
    if not scores:
        return "no score"
    mean, low, high = mean_with_interval(scores)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def cost_table(cost: dict[str, float]) -> Table:
    """What training took, beside what it would have taken to execute everything."""
    table = Table("", "with the world model", "executing everything", title="Cost of training")
    total = cost["executions_done"] + cost["executions_avoided"]
    table.add_row("real executions", f"{cost['executions_done']:.0f}", f"{total:.0f}")
    table.add_row(
        "wall-clock seconds",
        f"{cost['seconds']:.0f} (measured)",
        f"{cost['seconds_if_all_executed']:.0f} (estimate)",
    )
    ratio = np.divide(cost["seconds_if_all_executed"], cost["seconds"])
    table.add_row("ratio", "1", f"{ratio:.1f}")
    return table
