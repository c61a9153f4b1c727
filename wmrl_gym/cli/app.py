"""The subcommands, and how their arguments are read."""

from __future__ import annotations

from typing import Annotated

import tyro

from wmrl_gym.cli.evaluate import Evaluate
from wmrl_gym.cli.tasks import TasksList, TasksPrepare, TasksShow
from wmrl_gym.cli.train import Train

_Tasks = Annotated[
    Annotated[TasksList, tyro.conf.subcommand("list")]
    | Annotated[TasksShow, tyro.conf.subcommand("show")]
    | Annotated[TasksPrepare, tyro.conf.subcommand("prepare")],
    tyro.conf.subcommand("tasks", description="The built-in tasks."),
]
_Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | _Tasks
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
