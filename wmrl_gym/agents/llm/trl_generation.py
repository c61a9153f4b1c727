"""Generation by the engine that TRL's trainer is set to: transformers or vLLM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wmrl_gym.agents.llm.rollout import Said


def generate(trainer: Any, inputs: list[list[int]], limit: int) -> Said:
    """Continue token sequences with the policy as it is now.

    Args:
        trainer: A `GRPOTrainer`.
        inputs: `[B]` sequences of any lengths.
        limit: Most tokens to add to each.

    Returns:
        `[B]` tokens, up to and with the first that ends a turn; their log-probabilities if
        vLLM sampled them, else `None`.
    """
    with _at_most(trainer, limit):
        # One continuation of each: the prompts of a group have grown apart after a turn.
        said, logprobs = trainer._generate_single_turn(inputs, None, {}, 1)
    return said, logprobs


def context_length(trainer: Any) -> int:
    """Tokens that the model of a trainer, or the vLLM engine in front of it, can read."""
    limits = [getattr(trainer.model.config, "max_position_embeddings", None)]
    if trainer.use_vllm:
        limits.append(trainer.args.vllm_max_model_length)
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else 2**31


@contextmanager
def _at_most(trainer: Any, limit: int) -> Iterator[None]:
    """Lower the limit of new tokens, which the trainer sets once for whole completions."""
    if trainer.use_vllm:
        holder, name = trainer.vllm_generation, "max_completion_length"
    else:
        holder, name = trainer.generation_config, "max_new_tokens"
    before = getattr(holder, name)
    setattr(holder, name, limit)
    try:
        yield
    finally:
        setattr(holder, name, before)
