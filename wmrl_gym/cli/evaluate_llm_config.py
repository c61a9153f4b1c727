"""What an evaluation of a language model is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MICRO_TASKS = ("wine-cultivar-micro", "diabetes-micro", "penguin-sex-micro")
"""Tasks unless others are named."""


@dataclass(frozen=True)
class EvaluateLLMConfig:
    """Arguments of an evaluation of a language model."""

    agent: Literal["llm"] = "llm"
    """"llm" plays a language model; "trained" judges the policy of a run of wmrl-gym train."""
    model: str = "smollm2"
    """"transformers:MODEL" or "vllm:MODEL" with a directory or hub name, "openai:URL#MODEL" for a
    server, "smollm2", or "package.module:factory" for a back end of one's own."""
    tasks: tuple[str, ...] = MICRO_TASKS
    """Tasks to play, built-in, imported, or paths."""
    attempts: int = 3
    """Episodes on each task."""
    env: str = "WMRL-MLE-v0"
    """Id of an environment that takes and gives text."""
    language: Literal["chat", "pipeline"] = "chat"
    """How the model is asked: in a chat, or by the nine words of a pipeline, which is what the
    small policy of `wmrl-gym train --agent trl` understands."""
    max_turns: int = 4
    """Actions in an episode."""
    turn_tokens: int = 1024
    """Longest action, in tokens; at most half of what the model can read."""
    temperature: float = 0.7
    """Sampling temperature."""
    places: int = 32
    """Episodes at a time: their answers are one batch, and their executions another."""
    deadline_s: float = 600.0
    """Seconds for a call of the model, for each sixteen answers; a request to a server has as
    long with all its attempts."""
    timeout_s: float = 60.0
    """Wall-clock limit of one execution, in seconds."""
    sandbox: str = "auto"
    """Sandbox back end."""
    executor: Literal["pool", "ray"] = "pool"
    """Where executions run: on this machine, or on a Ray cluster."""
    address: str | None = None
    """Address of the Ray cluster."""
    workers: int | None = None
    """Executions at once on this machine; one per usable core if not given."""
    env_arguments: tuple[str, ...] = ()
    """Further arguments of the environment, as name=value, such as gpus=1 or memory_mb=8192."""
    seed: int = 0
    """Seed of the sampling."""

    def __post_init__(self) -> None:
        for name in ("attempts", "max_turns", "turn_tokens", "places"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("temperature", "deadline_s", "timeout_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive")
        if not self.tasks:
            raise ValueError("tasks=() must name at least one task")
