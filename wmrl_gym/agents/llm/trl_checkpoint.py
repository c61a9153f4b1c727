"""The correction in the checkpoints of a trainer."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from wmrl_gym.errors import RunError

STATE_FILE = "wmrl_state.pkl"
"""Written last, so that a checkpoint that has it is whole."""


class HasState(Protocol):
    """What is saved."""

    def state_dict(self) -> dict[str, Any]:
        """Picklable data."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from it."""
        ...


class CorrectionCheckpoint(TrainerCallback):
    """Saves anchors, map, weight and world model beside the model, and restores them.

    Args:
        spec: What to save.
    """

    def __init__(self, spec: HasState) -> None:
        self.spec = spec
        self.source: str | None = None
        """Checkpoint that the next training continues; `None` for the trainer's own of the
        step that it continues from."""

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Add the state to the checkpoint that was just written."""
        if state.is_world_process_zero:
            file = _directory(args, state) / STATE_FILE
            draft = file.with_suffix(".new")
            draft.write_bytes(pickle.dumps(self.spec.state_dict()))
            os.replace(draft, file)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Continue from the state in the checkpoint, if one is continued.

        Raises:
            RunError: If it has none.
        """
        if state.global_step == 0 and self.source is None:
            return
        directory = _directory(args, state) if self.source is None else Path(self.source)
        file = directory / STATE_FILE
        if not file.is_file():
            raise RunError(
                f"checkpoint={directory} has no {STATE_FILE}: it was not written by this trainer, "
                "or killed in the middle; continue from an earlier one"
            )
        self.spec.load_state_dict(pickle.loads(file.read_bytes()))


def last_checkpoint(directory: str | os.PathLike[str]) -> Path | None:
    """The latest whole checkpoint in the output directory of a trainer, `None` if there is none.

    A process that is killed while it saves leaves one without the state of the correction,
    which is passed over.
    """
    found = [
        (int(match[1]), path.parent)
        for path in Path(directory).glob(f"checkpoint-*/{STATE_FILE}")
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.parent.name))
    ]
    return max(found)[1] if found else None


def _directory(args: TrainingArguments, state: TrainerState) -> Path:
    return Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"
