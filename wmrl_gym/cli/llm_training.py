"""A training run of a language model: model, spec and trainer from a config."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PrinterCallback
from transformers.utils.logging import disable_progress_bar
from trl.trainer.grpo_config import GRPOConfig

from wmrl_gym.agents.llm.language import ChatLanguage, PlainLanguage
from wmrl_gym.agents.llm.spec import WMRLSpec
from wmrl_gym.agents.llm.trl import WMRLTrainer
from wmrl_gym.agents.llm.trl_checkpoint import last_checkpoint
from wmrl_gym.cli.llm_callbacks import Metrics, Stop
from wmrl_gym.cli.llm_evaluation import env_named
from wmrl_gym.cli.llm_report import INITIAL, TRAINED
from wmrl_gym.cli.stopping import StopRequest, stop_request
from wmrl_gym.cli.train_trl_config import BASE, PIPELINE_MODEL, SMOLLM2, TrainTRLConfig
from wmrl_gym.cli.waiting import lines_while_scored
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.training.config import environment_arguments
from wmrl_gym.training.directory import RunDirectory

_WARMUP_STEPS = 10


def train(config: TrainTRLConfig, run: RunDirectory, *, resume: bool) -> bool:
    """Train to the end, and write the model to `model` in the directory of the run.

    The first Ctrl-C saves a checkpoint after the batch that is going on.

    Args:
        config: What to do.
        run: The run. A new one is made once nothing is left that could be refused.
        resume: Whether to go on from the last whole checkpoint, or from the start if the run
            never got to one. Executions that are in the store are not paid again.

    Returns:
        Whether the training is finished; if not, the user has stopped it.
    """
    _be_quiet()
    if (run.path / TRAINED).is_dir():
        return True
    checkpoint = last_checkpoint(run.path / "checkpoints") if resume else None
    with _no_trace(run.path):
        model, tokenizer = _model(config, fresh=checkpoint is None)
        trainer = _trainer(config, run, model, tokenizer)
    try:
        if trainer.is_world_process_zero():
            if not resume:
                run.create(config)
            if checkpoint is None and config.model == PIPELINE_MODEL:
                model.save_pretrained(run.path / INITIAL)
                tokenizer.save_pretrained(run.path / INITIAL)
        return _continue(trainer, run, checkpoint, passes=config.passes)
    finally:
        trainer.spec.close()


def _be_quiet() -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers' own
    # TRL asks for it by a name that is on its way out, in every batch.
    warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)


@contextmanager
def _no_trace(run: Path) -> Iterator[None]:
    """Remove the directory if it is new and what is done in it fails."""
    new = not run.exists() and os.environ.get("RANK", "0") == "0"
    try:
        yield
    except BaseException:
        if new:
            shutil.rmtree(run, ignore_errors=True)
        raise


def _trainer(config: TrainTRLConfig, run: RunDirectory, model: Any, tokenizer: Any) -> WMRLTrainer:
    arguments, adapter = _arguments(config, run.path), _adapter(config)
    made: list[WMRLTrainer] = []
    world_model = _world_model(config, tokenizer, policy=lambda: made[0].model)
    spec = make_spec(config, world_model, store=run.store)
    spec.scorer.watch = partial(lines_while_scored, spec.scorer.real)
    try:
        with _model_named(config, OSError):
            trainer = WMRLTrainer(
                model,
                spec,
                args=arguments,
                processing_class=tokenizer,
                peft_config=adapter,
                callbacks=[Metrics(run, workers=_workers(spec))],
            )
    except BaseException:
        spec.close()
        raise
    made.append(trainer)
    # It would print every figure of every step.
    trainer.remove_callback(PrinterCallback)
    return trainer


def _continue(
    trainer: WMRLTrainer, run: RunDirectory, checkpoint: Path | None, *, passes: int
) -> bool:
    # Several processes would not hear of Ctrl-C in the same batch.
    alone = trainer.accelerator.num_processes == 1
    with stop_request() if alone else nullcontext(StopRequest()) as stop:
        trainer.add_callback(Stop(stop, passes))
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    if trainer.state.global_step < trainer.state.max_steps:
        return False
    # Under its name only when it is whole.
    trainer.save_model(str(run.path / f"{TRAINED}.new"))
    if trainer.is_world_process_zero():
        os.replace(run.path / f"{TRAINED}.new", run.path / TRAINED)
    return True


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
        **environment_arguments(config.env_arguments),
    }
    with env_named(config.env):
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
    with _model_named(config, OSError, ValueError):
        return name, AutoTokenizer.from_pretrained(
            name, padding_side="left", truncation_side="left"
        )


@contextmanager
def _model_named(config: TrainTRLConfig, *errors: type[Exception]) -> Iterator[None]:
    """Say of what cannot be loaded, with these errors, how it was named."""
    try:
        yield
    except errors as error:
        raise ValueError(
            f"model={config.model!r} is no model that can be loaded: give the directory of a "
            "causal language model in the layout of transformers, its hub name where the hub can "
            f"be reached, {SMOLLM2!r} or {PIPELINE_MODEL!r} ({' '.join(str(error).split())})"
        ) from error


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
    if config.vllm and find_spec("vllm") is None:
        raise MissingDependencyError(
            "vllm=True generates with vLLM in the training process, which is not installed: "
            "pip install vllm, on a machine with a GPU"
        )
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
        "report_to": list(config.track) or "none",
        "disable_tqdm": True,
        "log_level": "error",
        "seed": config.seed,
    }
    hardware: dict[str, Any] = {
        "use_cpu": cpu,
        "bf16": False if cpu or config.model == PIPELINE_MODEL else None,
        "use_vllm": config.vllm,
        "vllm_max_model_length": config.prompt_tokens + config.completion_tokens,
        "activation_checkpointing": config.gradient_checkpointing,
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
        # The first steps of Adam are as long as its later ones, in directions that one batch says;
        # the last ones, at full length, would break a grammar that was learned.
        lr_scheduler_type="linear",
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
