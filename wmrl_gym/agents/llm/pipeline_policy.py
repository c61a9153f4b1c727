"""A small language model of pipelines, made here: it knows the grammar and no preference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_gym.agents.llm.pipeline_language import (
    SENTENCE,
    pipeline_tokenizer,
    random_sentences,
    task_word,
)

CONTEXT = 64
_BATCH = 32


def pipeline_policy(
    tasks: Sequence[str], *, seed: int = 0, lessons: int = 120, width: int = 128, layers: int = 4
) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """A Llama of 0.8 million parameters that says random pipelines, and its tokenizer.

    It is taught the grammar, by random sentences, and nothing about what is good: a model of
    random weights says a sentence that means anything once in 10^14 tries.

    Args:
        tasks: Tasks that it will be asked for.
        seed: Seed of the weights and the lessons; the global random state stays as it is.
        lessons: Batches of random sentences; about 7 s on one core. 0 if its weights
            are loaded afterwards.
        width: Size of the hidden states, a multiple of 4.
        layers: Number of layers.
    """
    tokenizer = pipeline_tokenizer(tasks)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(_config(tokenizer, width=width, layers=layers))
        _teach(model, tokenizer, tasks, np.random.default_rng(seed), lessons)
    return model, tokenizer


def _config(tokenizer: PreTrainedTokenizerFast, *, width: int, layers: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=11 * width // 4,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=CONTEXT,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )


def _teach(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    tasks: Sequence[str],
    rng: np.random.Generator,
    lessons: int,
) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for lesson in range(lessons):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * (1 - lesson / lessons)
        prompts = [task_word(tasks[i]) for i in rng.integers(len(tasks), size=_BATCH)]
        sentences = random_sentences(_BATCH, rng)
        texts = [
            f"{prompt} {sentence} {tokenizer.eos_token}"
            for prompt, sentence in zip(prompts, sentences, strict=True)
        ]
        ids = torch.tensor(tokenizer(texts, add_special_tokens=False)["input_ids"])
        labels = ids.clone()
        labels[:, : -(SENTENCE + 1)] = -100
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
