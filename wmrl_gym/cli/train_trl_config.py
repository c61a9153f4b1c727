"""What a training run of a language model is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PIPELINE_MODEL = "pipeline"
"""Stands for the small policy that is made on the spot and speaks in pipelines."""
SMOLLM2 = "smollm2"
"""Stands for SmolLM2-135M-Instruct from the package that holds its weights."""


BASE = "base"
"""Stands for the policy with its adapters off, as world model."""


@dataclass(frozen=True)
class TrainTRLConfig:
    """Arguments of a training run of a language model."""

    agent: Literal["trl"] = "trl"
    """"trl" trains a language model with TRL; for "grpo" and "ppo", which train on numeric actions,
    see wmrl-gym train --help."""
    model: str = PIPELINE_MODEL
    """Directory or hub name of a chat model; "smollm2" for the bundled one, "pipeline" for a
    policy of 0.8 million parameters that is made here and says pipelines instead of Python."""
    tasks: tuple[str, ...] = (
        "wine-cultivar-micro",
        "diabetes-micro",
        "penguin-sex-micro",
    )
    """Tasks to train on."""
    env: str = "WMRL-MLE-v0"
    """Id of an environment that takes and gives text."""
    max_turns: int = 4
    """Actions in an episode; 1 with the model "pipeline"."""
    world_model: str = "surrogate"
    """Name of a world model, "vllm:NAME?gpu_memory_utilization=0.3" or "openai+execute:URL" say, or
    "package.module:factory"; "base" for the model that training starts with, which is the policy
    with its adapters off (needs --lora-rank)."""
    anchor_fraction: float = 0.1
    """Share of groups that are executed for real, in [0, 1]."""
    debias: bool = True
    """Recast predictions by the map fitted to the anchors."""
    denoise: bool = True
    """Weigh anchors by the inverse-variance rule."""
    groups: int = 180
    """Groups of episodes to train on."""
    group_size: int = 8
    """Episodes in a group."""
    groups_per_batch: int = 6
    """Groups in a generation batch, at least 2."""
    device_batch_size: int | None = None
    """Samples in one forward pass; all of a batch if not given."""
    learning_rate: float | None = None
    """Step size of the optimiser; 4e-4 for "pipeline", 1e-5 with LoRA, else 1e-6."""
    iterations: int | None = None
    """Passes over a batch; 4 for "pipeline", else 1 if not given."""
    loss_type: str = "dapo"
    """Loss of TRL."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """"group" divides advantages by the group's standard deviation, as the paper does, "batch" by
    that of the batch; "none" lets the size of predicted differences count."""
    beta: float = 0.0
    """Coefficient of the KL divergence from the model that training started with."""
    temperature: float = 1.0
    """Sampling temperature."""
    turn_tokens: int = 512
    """Longest action, in tokens."""
    completion_tokens: int = 4096
    """Longest conversation after the prompt, in tokens."""
    prompt_tokens: int = 4096
    """Longest prompt, in tokens; a longer one loses its middle."""
    observation_tokens: int = 512
    """Longest answer of the environment, in tokens; likewise."""
    lora_rank: int = 0
    """Rank of LoRA adapters; 0 trains all weights."""
    vllm: bool = False
    """Generate with vLLM in the training process, on a GPU."""
    gradient_checkpointing: bool = False
    """Save memory in the backward pass at the cost of time."""
    timeout_s: float = 20.0
    """Wall-clock limit of one execution, in seconds."""
    sandbox: str = "auto"
    """Sandbox back end."""
    workers: int | None = None
    """Real executions at once; one per usable core if not given."""
    env_arguments: tuple[str, ...] = ()
    """Further arguments of the environment, as name=value, such as gpus=1 or memory_mb=8192."""
    evaluation_episodes: int | None = None
    """Real episodes on each task before and after training; 0 for none. 24 for "pipeline", else 4
    if not given."""
    save_batches: int = 10
    """Batches between two checkpoints."""
    seed: int = 0
    """Seed of the policy, the tasks and the anchors."""
    track: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    """Where metrics go besides the directory of the run."""
    device: Literal["cpu", "auto"] = "auto"
    """Device of the policy: "cpu", or "auto" for a GPU if there is one."""

    def __post_init__(self) -> None:
        minima = {
            "max_turns": 1,
            "groups": 1,
            "group_size": 2,
            "groups_per_batch": 2,
            "save_batches": 1,
            "turn_tokens": 1,
            "completion_tokens": 1,
            "prompt_tokens": 1,
            "observation_tokens": 1,
        }
        for name, least in minima.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
        for name in ("temperature", "timeout_s", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value} must be positive")
        if not self.beta >= 0:
            raise ValueError(f"beta={self.beta} must not be negative")
        if self.passes < 1:
            raise ValueError(f"iterations={self.iterations} must be at least 1")
        if self.groups % self.groups_per_batch:
            raise ValueError(
                f"groups={self.groups} must be a multiple of "
                f"groups_per_batch={self.groups_per_batch}"
            )
        device_batch = self.device_batch_size or self.samples
        if device_batch < 1 or self.samples % device_batch:
            raise ValueError(
                f"device_batch_size={self.device_batch_size} must divide the {self.samples} "
                "samples of group_size x groups_per_batch"
            )
        if self.real_episodes < 0:
            raise ValueError(f"evaluation_episodes={self.evaluation_episodes} is negative")
        if self.world_model == BASE and not self.lora_rank:
            raise ValueError(
                f"world_model={BASE!r} is the policy with its adapters off, and lora_rank=0 trains "
                "without any: give --lora-rank, or another world model"
            )
        if self.lora_rank < 0:
            raise ValueError(f"lora_rank={self.lora_rank} must not be negative")
        if self.lora_rank and self.model == PIPELINE_MODEL:
            raise ValueError(
                f"lora_rank={self.lora_rank} adapts a model that exists; model={PIPELINE_MODEL!r} "
                "is made on the spot, and trains all its weights"
            )

    @property
    def samples(self) -> int:
        """Samples in a generation batch."""
        return self.group_size * self.groups_per_batch

    @property
    def passes(self) -> int:
        """Passes over a batch."""
        if self.iterations is not None:
            return self.iterations
        return 4 if self.model == PIPELINE_MODEL else 1

    @property
    def real_episodes(self) -> int:
        """Real episodes on each task before and after training."""
        if self.evaluation_episodes is not None:
            return self.evaluation_episodes
        return 24 if self.model == PIPELINE_MODEL else 4
