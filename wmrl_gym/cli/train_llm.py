"""`wmrl-gym train-llm`: GRPO on a language model with TRL."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from wmrl_gym.cli.run_directory import replace_file
from wmrl_gym.cli.train_llm_config import TrainLLMConfig
from wmrl_gym.errors import MissingDependencyError, RunError

CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class TrainLLM:
    """Train a language model by GRPO with a world model in the loop (needs the extra trl).

    The run directory keeps the arguments, every real execution, the checkpoints and, at the
    end, the model. A run that was stopped or killed goes on with --resume.
    """

    run: Path
    """Directory of the run; made if it does not exist."""
    resume: bool = False
    """Continue the run, with the arguments it was started with."""
    config: Annotated[TrainLLMConfig, tyro.conf.OmitArgPrefixes] = field(
        default_factory=TrainLLMConfig
    )

    def __call__(self) -> None:
        """Train, save, and write the model."""
        file = self.run / CONFIG_FILE
        if not self.resume and file.exists():
            raise RunError(
                f"run={self.run} exists: continue it with --resume, or choose another name"
            )
        config = TrainLLMConfig.read(file) if self.resume else self.config
        try:
            # Takes seconds to import, and minutes on a busy machine: only for this command.
            from wmrl_gym.cli.llm_training import train
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f'train-llm needs {error.name}: pip install "wmrl-gym[trl]"'
            ) from error
        if not self.resume:
            self.run.mkdir(parents=True, exist_ok=True)
            replace_file(file, (json.dumps(asdict(config), indent=2) + "\n").encode())
        train(config, self.run, resume=self.resume)
