"""The subcommands, and how their arguments are read."""

from __future__ import annotations

from typing import Annotated

import tyro

from wmrl_gym.cli.evaluate import Evaluate
from wmrl_gym.cli.grade import Grade, GradeSample
from wmrl_gym.cli.sandbox import SandboxBuild, SandboxList, SandboxSweep
from wmrl_gym.cli.serve import Serve
from wmrl_gym.cli.task_import import TasksImport
from wmrl_gym.cli.task_lint import TasksLint
from wmrl_gym.cli.tasks import TasksList, TasksPrepare, TasksShow
from wmrl_gym.cli.train import Train
from wmrl_gym.cli.train_llm import TrainLLM

_Tasks = Annotated[
    Annotated[TasksList, tyro.conf.subcommand("list")]
    | Annotated[TasksShow, tyro.conf.subcommand("show")]
    | Annotated[TasksPrepare, tyro.conf.subcommand("prepare")]
    | Annotated[TasksImport, tyro.conf.subcommand("import")]
    | Annotated[TasksLint, tyro.conf.subcommand("lint")],
    tyro.conf.subcommand("tasks", description="The tasks, built-in and imported."),
]
_Sandbox = Annotated[
    Annotated[SandboxList, tyro.conf.subcommand("list")]
    | Annotated[SandboxBuild, tyro.conf.subcommand("build")]
    | Annotated[SandboxSweep, tyro.conf.subcommand("sweep")],
    tyro.conf.subcommand("sandbox", description="What scripts can be run in."),
]
_Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[TrainLLM, tyro.conf.subcommand("train-llm")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Grade, tyro.conf.subcommand("grade")]
    | Annotated[GradeSample, tyro.conf.subcommand("grade-sample")]
    | Annotated[Serve, tyro.conf.subcommand("serve")]
    | _Tasks
    | _Sandbox
)


def run(arguments: list[str] | None = None) -> None:
    """Read the arguments and do what they say."""
    command = tyro.cli(
        _Command,
        prog="wmrl-gym",
        description="Train agents whose reward needs an expensive execution.",
        args=arguments,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.ConsolidateSubcommandArgs),
    )
    command()
