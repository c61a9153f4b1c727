"""What the correction adds to a step of TRL's trainer: `python benchmarks/trl_correction_share.py`.

The policy is the smallest there is, so that a step is as short as can be, and the map is
fitted to a full window of 5000 pairs. Timed are the draw of anchors, the map, its refit, the
weights and their normalisation, and the figures that are logged; not the world model and not
the executions, which the method saves or replaces, and which a trainer without it has in full.
All times are CPU seconds of the process, so that a busy machine does not change the shares.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
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
PARTS = ("is_anchor", "map", "update", "norm", "diagnostics")


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
        activation_checkpointing=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_level="error",
    )
    return WMRLTrainer(policy, spec, args=arguments, processing_class=tokenizer)


def measure() -> dict[str, float]:
    """CPU milliseconds of a step and of its parts, and the shares in per cent."""
    watches = Watches()
    with tempfile.TemporaryDirectory() as directory:
        trainer = make_trainer(directory)
        anchored, correction = trainer.spec.scorer.anchored, trainer.spec.scorer.correction
        original = CalibrationMap.__call__
        for name in ("update", "is_anchor", "diagnostics"):
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
    parts = {name: 1e3 * watches.seconds.get(name, 0.0) / BATCHES for name in PARTS}
    step = 1e3 * total / BATCHES
    outside = 1e3 * (watches.seconds.get("real", 0.0) + watches.seconds["model"]) / BATCHES
    added = sum(parts.values())
    return {
        "step_ms": step,
        "world_model_and_executions_ms": outside,
        **{f"{name}_ms": spent for name, spent in parts.items()},
        "percent_of_step": 100 * added / step,
        "percent_of_generation_and_training": 100 * added / (step - outside),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks/results/trl_correction_share.json")
    )
    arguments = parser.parse_args()
    # TRL asks transformers by a name that is on its way out, in every step.
    warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)
    runs = [measure() for _ in range(arguments.repeats)]
    medians = {name: round(median(run[name] for run in runs), 3) for name in runs[0]}
    result = {
        "policy": "0.8 million parameters",
        "groups_per_step": GROUPS,
        "group_size": SIZE,
        "steps": BATCHES,
        "pairs": PAIRS,
        "repeats": arguments.repeats,
        "median": medians,
        "percent_of_step": [round(run["percent_of_step"], 3) for run in runs],
    }
    print(json.dumps(result, indent=2))
    arguments.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
