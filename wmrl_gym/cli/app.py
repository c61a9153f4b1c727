"""The subcommands, and how their arguments are read."""

from __future__ import annotations

import logging
import sys
from typing import Annotated, Any

import tyro

from wmrl_gym.cli.benchmark import Benchmark
from wmrl_gym.cli.calibrate import Calibrate
from wmrl_gym.cli.collect import Collect
from wmrl_gym.cli.doctor import Doctor
from wmrl_gym.cli.evaluate import Evaluate
from wmrl_gym.cli.evaluate_llm import EvaluateLLM
from wmrl_gym.cli.evaluate_llm_config import EvaluateLLMConfig
from wmrl_gym.cli.fit import Fit
from wmrl_gym.cli.fit_dynamics import FitEpisodes, asks_for_episodes
from wmrl_gym.cli.grade import Grade, GradeSample
from wmrl_gym.cli.report import Report
from wmrl_gym.cli.sandbox import SandboxBuild, SandboxList, SandboxSweep
from wmrl_gym.cli.serve import Serve
from wmrl_gym.cli.task_import import TasksImport
from wmrl_gym.cli.task_lint import TasksLint
from wmrl_gym.cli.tasks import TasksList, TasksPrepare, TasksShow
from wmrl_gym.cli.train import Train, TrainControl
from wmrl_gym.cli.train_trl import TrainTRL
from wmrl_gym.cli.train_trl_config import TrainTRLConfig
from wmrl_gym.cli.variants import Variant, chosen
from wmrl_gym.cli.vla_collect import CollectVLA
from wmrl_gym.cli.vla_episodes import asks_for_manipulation
from wmrl_gym.cli.vla_evaluate import EvaluateVLA
from wmrl_gym.training.config import TrainConfig

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
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Collect, tyro.conf.subcommand("collect")]
    | Annotated[Calibrate, tyro.conf.subcommand("calibrate")]
    | Annotated[Fit, tyro.conf.subcommand("fit")]
    | Annotated[Grade, tyro.conf.subcommand("grade")]
    | Annotated[GradeSample, tyro.conf.subcommand("grade-sample")]
    | Annotated[Serve, tyro.conf.subcommand("serve")]
    | Annotated[Benchmark, tyro.conf.subcommand("benchmark")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | _Tasks
    | _Sandbox
)
_VARIANTS = {
    "train": (
        Variant(Train, TrainConfig, ("grpo", "ppo")),
        Variant(TrainTRL, TrainTRLConfig, ("trl",)),
    ),
    "evaluate": (
        Variant(Evaluate, Evaluate, ("trained",)),
        Variant(EvaluateLLM, EvaluateLLMConfig, ("llm",)),
        Variant(EvaluateVLA, EvaluateVLA, ("expert", "random", "saved")),
    ),
}
"""Commands whose `--agent` decides about their other options; the union lists the first ones."""


def run(arguments: list[str] | None = None) -> None:
    """Read the arguments and do what they say."""
    _show_log()
    given = sys.argv[1:] if arguments is None else arguments
    kind: Any = _Command
    prog = "wmrl-gym"
    if given and (meant := _meant(given[0], given[1:])) is not None:
        kind, prog, given = meant, f"wmrl-gym {given[0]}", given[1:]
    command = tyro.cli(
        kind,
        prog=prog,
        description="Train agents whose reward needs an expensive execution."
        if kind is _Command
        else None,
        args=given,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.ConsolidateSubcommandArgs),
    )
    command()


def _show_log() -> None:
    """Show what the library says of itself, such as what a model server was found to do."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("wmrl_gym").setLevel(logging.INFO)


def _meant(name: str, arguments: list[str]) -> type[Any] | None:
    """The command behind a name that has several; `None` where the union decides."""
    if name in _VARIANTS:
        command = chosen(_VARIANTS[name], arguments).command
        return TrainControl if command is Train and asks_for_manipulation(arguments) else command
    if name == "collect" and asks_for_manipulation(arguments):
        return CollectVLA
    if name == "fit" and asks_for_episodes(arguments):
        return FitEpisodes
    return None
