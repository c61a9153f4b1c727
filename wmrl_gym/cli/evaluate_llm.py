"""`wmrl-gym evaluate --agent llm`: the true score of a language model as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from wmrl_gym.cli.evaluate_llm_config import EvaluateLLMConfig
from wmrl_gym.cli.llm_evaluation import LLMEvaluation
from wmrl_gym.cli.llm_tables import effort_table, score_table
from wmrl_gym.errors import RunError
from wmrl_gym.training.directory import RunDirectory


@dataclass(frozen=True)
class EvaluateLLM:
    """Let a language model play tasks for real, and say how good it is at each.

    The run directory keeps every answer, every execution and every episode: --resume goes on,
    and repeats nothing that was paid for. Ctrl-C stops after the turn that is going on.
    """

    run: Path
    """Directory of the evaluation; made if it does not exist."""
    resume: bool = False
    """Continue the evaluation, with the arguments it was started with."""
    config: Annotated[EvaluateLLMConfig, tyro.conf.OmitArgPrefixes] = field(
        default_factory=EvaluateLLMConfig
    )

    def __call__(self) -> None:
        """Play, print the table and write `result.json`.

        Raises:
            RunError: If some attempts have no score, for reasons of ours.
        """
        run = RunDirectory(self.run)
        if self.resume:
            run.require_existing()
        else:
            run.require_new()
        config = run.config(EvaluateLLMConfig) if self.resume else self.config
        # Before anything is written: a wrong argument leaves no directory behind.
        evaluation = LLMEvaluation(config, run.path)
        try:
            evaluation.open()
            if not self.resume:
                run.create(config)
            evaluation.play(Console())
        finally:
            evaluation.close()
        _report(run, config, evaluation)


def _report(run: RunDirectory, config: EvaluateLLMConfig, evaluation: LLMEvaluation) -> None:
    results = evaluation.results()
    if results:
        console = Console()
        console.print(score_table(results, attempts=config.attempts))
        console.print(effort_table(results))
        run.write_result({"model": config.model, **evaluation.to_dict()})
    left = evaluation.left()
    if evaluation.failures:
        attempt, reason = next(iter(evaluation.failures.items()))
        raise RunError(
            f"{len(evaluation.failures)} attempts have no score, {attempt} for one: {reason}; "
            f"play them again with: wmrl-gym evaluate --run {run.path} --resume"
        )
    if left:
        print(
            f"stopped with {len(left)} attempts left; continue with: "
            f"wmrl-gym evaluate --run {run.path} --resume"
        )
