"""A training run of a language model: model, spec and trainer from a config."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PrinterCallback, TrainerCallback
from trl.trainer.grpo_config import GRPOConfig

from wmrl_gym.agents.llm.language import ChatLanguage, PlainLanguage
from wmrl_gym.agents.llm.spec import WMRLSpec
from wmrl_gym.agents.llm.trl import WMRLTrainer
from wmrl_gym.agents.llm.trl_checkpoint import last_checkpoint
from wmrl_gym.cli.llm_report import INITIAL, TRAINED
from wmrl_gym.cli.train_trl_config import BASE, PIPELINE_MODEL, SMOLLM2, TrainTRLConfig
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.training.directory import RunDirectory

_WARMUP_STEPS = 10
_SHOWN = ("reward", "wmrl/executions_real", "wmrl/executions_avoided", "wmrl/rank_correlation")


def train(config: TrainTRLConfig, run: RunDirectory, *, resume: bool) -> None:
    """Train to the end, and write the model to `model` in the directory of the run.

    Args:
        config: What to do.
        run: The run.
        resume: Whether to go on from the last whole checkpoint, or from the start if the run
            never got to one. Executions that are in the store are not paid again.
    """
    logging.getLogger("transformers").setLevel(logging.ERROR)
    if (run.path / TRAINED).is_dir():
        return
    checkpoint = last_checkpoint(run.path / "checkpoints") if resume else None
    model, tokenizer = _model(config, fresh=checkpoint is None)
    if checkpoint is None and config.model == PIPELINE_MODEL:
        model.save_pretrained(run.path / INITIAL)
        tokenizer.save_pretrained(run.path / INITIAL)
    made: list[WMRLTrainer] = []
    world_model = _world_model(config, tokenizer, policy=lambda: made[0].model)
    spec = make_spec(config, world_model, store=run.store)
    try:
        trainer = WMRLTrainer(
            model,
            spec,
            args=_arguments(config, run.path),
            processing_class=tokenizer,
            peft_config=_adapter(config),
            callbacks=[_Metrics(run, workers=_workers(spec))],
        )
        made.append(trainer)
        # It would print every figure of every step.
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        # Under its name only when it is whole.
        trainer.save_model(str(run.path / f"{TRAINED}.new"))
        if trainer.is_world_process_zero():
            os.replace(run.path / f"{TRAINED}.new", run.path / TRAINED)
    finally:
        spec.close()


def make_spec(
    config: TrainTRLConfig, world_model: str | WorldModel, *, store: Path | None
) -> WMRLSpec:
    """The tasks, the world model and the anchors of a run.

    Args:
        config: What to do.
        world_model: That of `config`, by its name or made.
        store: Store of real outcomes; `None` to remember nothing.
    """
    pipeline = config.model == PIPELINE_MODEL
    options: dict[str, Any] = {
        "max_turns": 1 if pipeline else config.max_turns,
        "timeout_s": config.timeout_s,
        "sandbox": config.sandbox,
        "workers": config.workers,
        "store": None if store is None else str(store),
    }
    return WMRLSpec(
        config.tasks,
        groups=config.groups,
        env=config.env,
        env_options=options,
        world_model=world_model,
        anchor_fraction=config.anchor_fraction,
        seed=config.seed,
        correction_options={"debias": config.debias, "denoise": config.denoise},
        language=_language(config),
        episodes=config.samples,
        turn_tokens=config.turn_tokens,
        max_prompt_tokens=config.prompt_tokens,
        max_observation_tokens=config.observation_tokens,
    )


class _Metrics(TrainerCallback):
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


def _workers(spec: WMRLSpec) -> int:
    real = spec.scorer.real
    return real.workers if isinstance(real, StoringExecutor) else 1


def _language(config: TrainTRLConfig) -> Any:
    if config.model == PIPELINE_MODEL:
        from wmrl_gym.agents.llm.pipeline_language import PipelineLanguage

        return PipelineLanguage()
    tokenizer = AutoTokenizer.from_pretrained(_name(config))
    return ChatLanguage() if tokenizer.chat_template else PlainLanguage()


def _model(config: TrainTRLConfig, *, fresh: bool) -> tuple[Any, Any]:
    """The model, or its name for the trainer to load, and its tokenizer."""
    if config.model == PIPELINE_MODEL:
        from wmrl_gym.agents.llm.pipeline_policy import pipeline_policy

        lessons = {} if fresh else {"lessons": 0}  # a checkpoint brings the weights
        return pipeline_policy(config.tasks, seed=config.seed, **lessons)
    name = _name(config)
    return name, AutoTokenizer.from_pretrained(name, padding_side="left", truncation_side="left")


def _world_model(
    config: TrainTRLConfig, tokenizer: Any, *, policy: Callable[[], Any]
) -> str | WorldModel:
    """The name of a world model, or the policy with its adapters off; `policy` is called late."""
    if config.world_model != BASE:
        return config.world_model
    from wmrl_gym.world_models.language import LanguageWorldModel
    from wmrl_gym.world_models.language.backends.adapter_off import AdapterOffBackend

    return LanguageWorldModel(AdapterOffBackend(policy, tokenizer))


def _name(config: TrainTRLConfig) -> str:
    if config.model != SMOLLM2:
        return config.model
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return str(smollm2_directory())


def _adapter(config: TrainTRLConfig) -> Any:
    if config.lora_rank == 0:
        return None
    try:
        from peft import LoraConfig
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'lora_rank={config.lora_rank} needs peft: pip install "wmrl-gym[trl]"'
        ) from error
    return LoraConfig(
        r=config.lora_rank,
        lora_alpha=2 * config.lora_rank,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
    )


def _arguments(config: TrainTRLConfig, run: Path) -> GRPOConfig:
    cpu = config.device == "cpu" or not torch.cuda.is_available()
    device_batch = config.device_batch_size or config.samples
    steps = config.samples // device_batch
    saved: dict[str, Any] = {
        "output_dir": str(run / "checkpoints"),
        "save_strategy": "steps",
        "save_steps": config.save_batches * config.passes,
        # The last two: a kill while the latest is written leaves one that is whole.
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
        "seed": config.seed,
    }
    hardware: dict[str, Any] = {
        "use_cpu": cpu,
        "bf16": False if cpu or config.model == PIPELINE_MODEL else None,
        "use_vllm": config.vllm,
        "vllm_max_model_length": config.prompt_tokens + config.completion_tokens,
        "gradient_checkpointing": config.gradient_checkpointing,
        "per_device_train_batch_size": device_batch,
        "gradient_accumulation_steps": steps,
        "steps_per_generation": steps,
    }
    return GRPOConfig(
        **saved,
        **hardware,
        num_train_epochs=1,
        num_generations=config.group_size,
        num_iterations=config.passes,
        max_completion_length=config.completion_tokens,
        learning_rate=_learning_rate(config),
        # The first steps of Adam are as long as its later ones, in directions that one batch says.
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=_WARMUP_STEPS,
        loss_type=config.loss_type,
        scale_rewards=config.scale_rewards,
        beta=config.beta,
        temperature=config.temperature,
        shuffle_dataset=False,
    )


def _learning_rate(config: TrainTRLConfig) -> float:
    if config.learning_rate is not None:
        return config.learning_rate
    if config.model == PIPELINE_MODEL:
        return 4e-4
    return 1e-5 if config.lora_rank else 1e-6
