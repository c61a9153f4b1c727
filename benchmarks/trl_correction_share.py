"""What the correction adds to a step of TRL's trainer: `python benchmarks/trl_correction_share.py`.

The policy is the smallest there is, so that a step is as short as can be, and the map is
fitted to a full window of 5000 pairs. Timed are the draw of anchors, the map, its refit, the
weights and their normalisation; not the world model and not the executions, which the method
saves or replaces, and which a trainer without it has in full. All times are CPU seconds of
the process, so that a busy machine does not change the shares. An argument is the number of
repeats.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from trl.trainer.grpo_config import GRPOConfig

from wmrl_gym.agents.llm.pipeline_language import PipelineLanguage
from wmrl_gym.agents.llm.pipeline_policy import pipeline_policy
from wmrl_gym.agents.llm.spec import WMRLSpec
from wmrl_gym.agents.llm.trl import WMRLTrainer
from wmrl_gym.correction import CalibrationMap

TASKS = ["wine-cultivar", "diabetes", "penguin-sex"]
BATCHES, GROUPS, SIZE = 10, 6, 8
PAIRS = 5000
REPEATS = 3
PARTS = ("is_anchor", "map", "update", "norm")


class Watches:
    """Adds up the time that functions take, by name; what one does in another is the other's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside = False

    def around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            if self._inside:
                return act(*args, **options)
            # Of this thread: others of the process must not count as the part's.
            self._inside, started = True, time.thread_time()
            try:
                return act(*args, **options)
            finally:
                self._inside, spent = False, time.thread_time() - started
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        return timed

    def watch(self, holder: Any, method: str, name: str) -> None:
        setattr(holder, method, self.around(name, getattr(holder, method)))


def full_window(spec: WMRLSpec) -> None:
    """Pairs of a world model whose error is that of a run, in groups of `SIZE`."""
    rng = np.random.default_rng(0)
    true = rng.uniform(size=PAIRS)
    predicted = np.clip(0.2 + 0.6 * true + 0.1 * rng.normal(size=PAIRS), 0.0, 1.0)
    groups = np.arange(PAIRS) // SIZE
    spec.scorer.correction.update(predicted=predicted, true=true, groups=groups)


def make_trainer(directory: str) -> WMRLTrainer:
    policy, tokenizer = pipeline_policy(TASKS, seed=0)
    spec = WMRLSpec(
        TASKS,
        groups=BATCHES * GROUPS,
        language=PipelineLanguage(),
        episodes=GROUPS * SIZE,
        env_options={"max_turns": 1, "timeout_s": 3.0, "store": f"{directory}/store.sqlite"},
    )
    full_window(spec)
    arguments = GRPOConfig(
        output_dir=directory,
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=GROUPS * SIZE,
        num_generations=SIZE,
        max_completion_length=10,
        num_train_epochs=1,
        gradient_checkpointing=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_level="error",
    )
    return WMRLTrainer(policy, spec, args=arguments, processing_class=tokenizer)


def measure() -> tuple[float, float]:
    """Shares, in per cent, of the whole step and of generation and training alone."""
    watches = Watches()
    with tempfile.TemporaryDirectory() as directory:
        trainer = make_trainer(directory)
        anchored, correction = trainer.spec.scorer.anchored, trainer.spec.scorer.correction
        original = CalibrationMap.__call__
        for name in ("update", "is_anchor"):
            watches.watch(correction, name, name)
        watches.watch(CalibrationMap, "__call__", "map")
        watches.watch(trainer, "_normalized_weights", "norm")
        watches.watch(anchored.real, "execute", "real")
        for name in ("execute", "learn"):
            watches.watch(anchored.world_model, name, "model")
        started = time.process_time()
        trainer.train()
        total = time.process_time() - started
        CalibrationMap.__call__ = original  # type: ignore[method-assign]  # as it was
        trainer.spec.close()
    spent = watches.seconds
    added = sum(spent[name] for name in PARTS)
    bare = total - spent.get("real", 0.0) - spent["model"]
    parts = ", ".join(f"{name} {1e3 * spent[name] / BATCHES:.2f}" for name in PARTS)
    print(
        f"step: {1e3 * total / BATCHES:.0f} ms of CPU, of which world model "
        f"{1e3 * spent['model'] / BATCHES:.0f}, {parts}",
        flush=True,
    )
    return 100 * added / total, 100 * added / bare


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    shares = [measure() for _ in range(repeats)]
    for column, what in enumerate(("step", "generation and training alone")):
        values = [share[column] for share in shares]
        listed = ", ".join(f"{value:.2f}" for value in values)
        print(f"share of the {what}: median {median(values):.2f} % of ({listed})")


if __name__ == "__main__":
    main()
