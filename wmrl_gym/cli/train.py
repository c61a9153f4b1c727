"""`wmrl-gym train`: the main job."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.console import Console

from wmrl_gym.cli.evaluate import report
from wmrl_gym.cli.progress import TrainingProgress
from wmrl_gym.cli.stopping import stop_request
from wmrl_gym.training.config import ControlConfig, TrainConfig
from wmrl_gym.training.directory import RunDirectory, replace_file
from wmrl_gym.training.run import TrainingRun, save_agent
from wmrl_gym.training.trackers import open_trackers


@dataclass(frozen=True)
class Train:
    """Train a policy with a world model in the loop, then show what that bought.

    Ctrl-C stops the run after the executions that are going on; --resume continues it.
    """

    run: Path
    """Directory of the run; made if it does not exist."""
    resume: bool = False
    """Continue the run, with the arguments it was started with."""
    config: Annotated[TrainConfig, tyro.conf.OmitArgPrefixes] = field(default_factory=TrainConfig)

    def __call__(self) -> None:
        """Train, save after every batch, and evaluate at the end."""
        # The networks are small: more threads would only take cores from the sandboxes.
        torch.set_num_threads(1)
        run = RunDirectory(self.run)
        if self.resume:
            run.require_existing()
        else:
            run.require_new()
        config = run.config(TrainConfig) if self.resume else self.config
        # Before anything is written: a wrong argument leaves no directory behind.
        training = TrainingRun(config, store=str(run.store), episodes=str(run.episodes))
        try:
            if not self.resume:
                run.create(config)
            _continue(training, run)
            finished = _train(training, run)
        finally:
            training.close()
        if not finished:
            print(
                f"stopped after {training.groups} groups; continue with: "
                f"wmrl-gym train --run {run.path} --resume"
            )
        elif config.evaluation_episodes:
            report(run)


@dataclass(frozen=True)
class TrainControl(Train):
    """Train a policy to control an arm with a model of the dynamics in the loop.

    Ctrl-C stops the run after the batch that is going on; --resume continues it.
    """

    config: Annotated[ControlConfig, tyro.conf.OmitArgPrefixes] = field(
        default_factory=ControlConfig
    )


def _continue(training: TrainingRun, run: RunDirectory) -> None:
    """Go on from the checkpoint, or from the start if the run never got to one."""
    if run.checkpoint.exists():
        training.restore(run)
        run.truncate_metrics("groups", training.groups)
    else:
        run.truncate_metrics("groups", 0)
        run.episodes.unlink(missing_ok=True)
        replace_file(run.initial_policy, save_agent(training.agent))


def _train(training: TrainingRun, run: RunDirectory) -> bool:
    """Train until all groups are done (True) or the user has had enough (False)."""
    console = Console()
    config = training.config
    with (
        open_trackers(config.track, run=run.path, config=asdict(config)) as track,
        stop_request() as stop,
        TrainingProgress(config.groups, console) as progress,
    ):
        while not training.finished:
            if stop.wanted:
                return False
            metrics = training.train_batch()
            run.log(metrics)
            training.save(run)
            track(metrics, training.groups)
            progress.show(metrics)
    return True
