"""What a training run is asked to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

TRAIN_TASKS = (
    "auto-mpg",
    "bananas",
    "phishing",
    "anes96-party",
    "airport-state",
    "heart-disease",
)
"""Built-in tasks that a run trains on unless told otherwise."""
HELD_OUT_TASKS = ("wine-cultivar", "diabetes", "penguin-sex", "breast-cancer")
"""Built-in tasks that it is evaluated on besides, and never trains on."""


@dataclass(frozen=True)
class TrainConfig:
    """Arguments of a training run."""

    env: str = "WMRL-MLE-Pipeline-v0"
    """Id of an environment with numeric actions; "package:Id-v0" imports the package first."""
    tasks: tuple[str, ...] = TRAIN_TASKS
    """Tasks to train on; empty for an environment that has none."""
    held_out_tasks: tuple[str, ...] = HELD_OUT_TASKS
    """Tasks to evaluate on besides, never trained on."""
    agent: Literal["grpo", "ppo"] = "grpo"
    """"grpo" and "ppo" train a small network on numeric actions; "trl" trains a language model, and
    has options of its own: wmrl-gym train --agent trl --help."""
    world_model: str = "surrogate"
    """Name of a world model, "package.module:factory", or "none" to execute everything."""
    anchor_fraction: float = 0.1
    """Share of groups that are executed for real, in [0, 1]."""
    debias: bool = True
    """Recast predictions by the map fitted to the anchors."""
    denoise: bool = True
    """Weigh anchors by the inverse-variance rule."""
    weight_exponent: float = 1.0
    """Power of that rule, in [0, 1]; 1 is the paper's."""
    fusion: Literal["inverse_variance", "prediction_powered"] = "inverse_variance"
    """How anchors and predictions make one gradient; "prediction_powered" needs --agent grpo."""
    max_anchor_fraction: float | None = None
    """Share of anchors where the world model's ranking is worth nothing; the share follows the
    audit from --anchor-fraction up. Fixed if not given."""
    allocate: bool = False
    """Give tasks that are predicted badly more of the anchors; needs "prediction_powered"."""
    gate_threshold: float = 0.7
    """Share of episodes that a model of the dynamics must rank rightly, at the lower end of its
    interval, before a task is imagined; for environments that only have `step`."""
    normalize: Literal["std", "center"] = "std"
    """Whether GRPO divides advantages by the group's standard deviation."""
    score: Literal["success", "return"] = "success"
    """What an episode is worth, in environments that only have `step`: "return" is the sum of its
    rewards, which must lie in [0, 1]."""
    env_arguments: tuple[str, ...] = ()
    """Further arguments of the environment, as name=value; a value is JSON, or else text."""
    rollout_steps: int | None = None
    """Steps of each sub-environment between two updates of PPO; one for each group if not given,
    which is right where an episode is one step."""
    groups: int = 160
    """Groups of episodes to train on."""
    group_size: int = 8
    """Episodes in a group."""
    groups_per_batch: int = 8
    """Groups in a policy update."""
    learning_rate: float = 0.003
    """Step size of the optimiser."""
    epochs: int = 8
    """Passes over a batch."""
    entropy: float = 0.01
    """Coefficient of the entropy bonus."""
    discount: float = 0.99
    """What a reward of the next step counts, in (0, 1]; for --agent ppo, which looks at steps."""
    noise: float = 1.0
    """Standard deviation of continuous actions at the start."""
    timeout_s: float = 3.0
    """Wall-clock limit of one execution, in seconds; passed to environments with tasks."""
    evaluation_episodes: int = 12
    """Real episodes on each task before and after training; 0 for no evaluation."""
    seed: int = 0
    """Seed of the policy, the groups and the anchors."""
    sandbox: str = "auto"
    """Sandbox back end; passed to environments with tasks."""
    executor: Literal["pool", "ray"] = "pool"
    """Where real executions run: on this machine, or on a Ray cluster; passed to environments with
    tasks."""
    address: str | None = None
    """Address of the Ray cluster, host:port, or "auto" for the one of this machine; if not given,
    Ray is started here unless it runs."""
    workers: int | None = None
    """Real executions at once on this machine; one per usable core if not given. On a cluster,
    its resources say."""
    track: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    """Where metrics go besides the directory of the run."""
    device: str = "auto"
    """Device of the policy: "cpu", "cuda", or "auto"."""

    def __post_init__(self) -> None:
        if not self.env.rpartition(":")[2].startswith("WMRL-MLE") and self.tasks == TRAIN_TASKS:
            # The defaults are tasks of another environment: this one has its own.
            object.__setattr__(self, "tasks", ())
            object.__setattr__(self, "held_out_tasks", ())
        for name in ("groups", "group_size", "groups_per_batch", "epochs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if not (0.0 < self.discount <= 1.0 and self.noise > 0.0):
            raise ValueError(
                f"discount={self.discount} must be in (0, 1], and noise={self.noise} positive"
            )
        if self.evaluation_episodes < 0:
            raise ValueError(f"evaluation_episodes={self.evaluation_episodes} is negative")
        if self.executor != "ray" and self.address is not None:
            raise ValueError(f"address={self.address!r} needs executor='ray'")
        if self.executor == "ray" and self.workers is not None:
            raise ValueError(f"workers={self.workers} needs executor='pool'")
        if self.executor == "ray" and not self.tasks:
            raise ValueError("executor='ray' needs an environment with tasks")

    @property
    def correction_options(self) -> dict[str, Any]:
        """Arguments of `RewardCorrection`."""
        return {
            "debias": self.debias,
            "denoise": self.denoise,
            "exponent": self.weight_exponent,
            "fusion": self.fusion,
            "max_anchor_fraction": self.max_anchor_fraction,
            "allocate": self.allocate,
        }

    @property
    def evaluation_tasks(self) -> tuple[str, ...]:
        """Tasks to evaluate on; empty for an environment that has none."""
        return (*self.tasks, *self.held_out_tasks) if self.tasks else ()


@dataclass(frozen=True)
class ControlConfig(TrainConfig):
    """The same with defaults for `WMRL-VLA-State-v0`: PPO learns to reach in minutes on a CPU."""

    env: str = "WMRL-VLA-State-v0"
    tasks: tuple[str, ...] = ("reach",)
    held_out_tasks: tuple[str, ...] = ()
    agent: Literal["grpo", "ppo"] = "ppo"
    world_model: str = "dynamics"
    anchor_fraction: float = 0.15
    gate_threshold: float = 0.55
    score: Literal["success", "return"] = "return"
    env_arguments: tuple[str, ...] = ("reward=progress",)
    rollout_steps: int | None = 128
    groups: int = 120
    group_size: int = 16
    groups_per_batch: int = 4
    learning_rate: float = 0.001
    epochs: int = 10
    entropy: float = 0.0
    discount: float = 0.95
    noise: float = 0.6
    evaluation_episodes: int = 50


def environment_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Arguments of an environment from texts such as `gpus=1`, whose values are JSON or text.

    Raises:
        ValueError: If one is no `name=value`.
    """
    arguments: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise ValueError(f"env_arguments={text!r} must look like name=value")
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments
