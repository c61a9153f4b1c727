"""What the correction adds to a step of TRL's trainer: `python benchmarks/trl_correction_share.py`.

The policy is the smallest there is, so that a step is as short as can be, and the map is
fitted to a full window of 5000 pairs. Timed are the draw of anchors, the map, its refit, the
weights and their normalisation; not the world model and not the executions, which the method
saves or replaces, and which a trainer without it has in full. All times are CPU seconds of
the process, so that a busy machine does not change the shares.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
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


class Watch:
    """Adds up the time that functions take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            try:
                return act(*args, **options)
            finally:
                self.seconds += time.process_time() - started

        return timed


def full_window(spec: WMRLSpec) -> None:
    """Pairs of a world model whose error is that of a run, in groups of `SIZE`."""
    rng = np.random.default_rng(0)
    true = rng.uniform(size=PAIRS)
    predicted = np.clip(0.2 + 0.6 * true + 0.1 * rng.normal(size=PAIRS), 0.0, 1.0)
    groups = np.arange(PAIRS) // SIZE
    spec.scorer.correction.update(predicted=predicted, true=true, groups=groups)


def main() -> None:
    watch = Watch()
    parts = {n: Watch() for n in ("update", "is_anchor", "map", "norm")}
    execution, model_time = Watch(), Watch()
    with tempfile.TemporaryDirectory() as directory:
        policy, tokenizer = pipeline_policy(TASKS, seed=0)
        spec = WMRLSpec(
            TASKS,
            groups=BATCHES * GROUPS,
            language=PipelineLanguage(),
            episodes=GROUPS * SIZE,
            env_options={"max_turns": 1, "timeout_s": 3.0},
        )
        full_window(spec)
        trainer = WMRLTrainer(
            policy,
            spec,
            args=GRPOConfig(
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
            ),
            processing_class=tokenizer,
        )
        anchored, correction = spec.scorer.anchored, spec.scorer.correction
        for name in ("update", "is_anchor"):
            setattr(correction, name, parts[name].around(watch.around(getattr(correction, name))))
        CalibrationMap.__call__ = parts["map"].around(watch.around(CalibrationMap.__call__))  # type: ignore[method-assign]  # timed
        trainer._normalized_weights = parts["norm"].around(
            watch.around(trainer._normalized_weights)
        )  # type: ignore[method-assign]  # timed
        anchored.real.execute = execution.around(anchored.real.execute)  # type: ignore[method-assign]  # timed
        for name in ("execute", "learn"):
            setattr(
                anchored.world_model, name, model_time.around(getattr(anchored.world_model, name))
            )
        started = time.process_time()
        trainer.train()
        total = time.process_time() - started
        spec.close()
    bare = total - execution.seconds - model_time.seconds
    world_model = model_time.seconds / BATCHES
    print(f"step: {total / BATCHES:.3f} CPU-s, of which world model {world_model:.3f}")
    for name, part in parts.items():
        print(f"{name}: {1e3 * part.seconds / BATCHES:.2f} ms a step")
    print(f"share of the step: {100 * watch.seconds / total:.2f} %")
    print(f"share of generation and training alone: {100 * watch.seconds / bare:.2f} %")


if __name__ == "__main__":
    main()
