"""What happens between the batches of a language model's training: figures, and Ctrl-C."""

from __future__ import annotations

import math
from typing import Any

from transformers import TrainerCallback

from wmrl_gym.cli.stopping import StopRequest
from wmrl_gym.training.directory import RunDirectory

_SHOWN = ("reward", "wmrl/executions_real", "wmrl/executions_avoided", "wmrl/rank_correlation")


class Metrics(TrainerCallback):
    """Writes a line for each batch, and shows the figures that matter."""

    def __init__(self, run: RunDirectory, *, workers: int) -> None:
        self._run, self._workers = run, workers

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Drop the lines of batches that the checkpoint does not know: they will come again."""
        if state.is_world_process_zero:
            self._run.truncate_metrics("step", state.global_step)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Write and show one batch."""
        if not state.is_world_process_zero or not logs or "reward" not in logs:
            return
        known = {k: v for k, v in logs.items() if v is not None and math.isfinite(v)}
        self._run.log({"step": state.global_step, "workers": self._workers, **known})
        shown = [
            f"{name.removeprefix('wmrl/')}={known[name]:.3g}" for name in _SHOWN if name in known
        ]
        print(f"step={state.global_step}/{state.max_steps}", *shown, flush=True)


class Stop(TrainerCallback):
    """Ends a training that the user has had enough of, with a checkpoint, between batches."""

    def __init__(self, request: StopRequest, passes: int) -> None:
        self._request, self._passes = request, passes

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save and stop if that was the last pass over a batch."""
        if self._request.wanted and state.global_step % self._passes == 0:
            control.should_save = control.should_training_stop = True
