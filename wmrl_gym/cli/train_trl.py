"""`wmrl-gym train --agent trl`: GRPO on a language model with TRL."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from wmrl_gym.cli.train_trl_config import TrainTRLConfig
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.training.directory import RunDirectory


@dataclass(frozen=True)
class TrainTRL:
    """Train a language model by GRPO with a world model in the loop (needs the extra trl).

    The run directory keeps the arguments, every real execution, the checkpoints, the model and
    its true score before and after. Ctrl-C stops the run after the batch that is going on; one
    that was stopped or killed goes on with --resume.
    """

    run: Path
    """Directory of the run; made if it does not exist."""
    resume: bool = False
    """Continue the run, with the arguments it was started with."""
    config: Annotated[TrainTRLConfig, tyro.conf.OmitArgPrefixes] = field(
        default_factory=TrainTRLConfig
    )

    def __call__(self) -> None:
        """Train, save, write the model, and evaluate it."""
        run = RunDirectory(self.run)
        # A launcher of several processes sets it; the first one answers for the directory.
        first = os.environ.get("RANK", "0") == "0"
        if self.resume:
            run.require_existing()
        elif first:
            run.require_new()
        config = run.config(TrainTRLConfig) if self.resume else self.config
        try:
            # Takes seconds to import, and minutes on a busy machine: only for this command.
            from wmrl_gym.cli.llm_training import train
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f'--agent trl needs {error.name}: pip install "wmrl-gym[trl]"'
            ) from error
        # A wrong argument leaves no directory behind.
        finished = train(config, run, resume=self.resume)
        if not finished:
            print(f"stopped; continue with: wmrl-gym train --run {run.path} --resume")
        elif first and config.real_episodes:
            from wmrl_gym.cli.llm_report import report

            report(run)
