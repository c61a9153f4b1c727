"""A language model in a vLLM engine of this process.

Prompts are handed over in the order of what they share, so that the engine's prefix cache
finds it; the probabilities of the symbols are asked for by token, so that they are those of
the whole vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.backend import Capabilities, Completion, Prompt, Reading
from wmrl_gym.world_models.language.backends.chat import ChatEncoder


class VLLMBackend:
    """Runs an offline engine.

    The engine starts a process of its own: a program that makes one needs the usual
    `if __name__ == "__main__":` around its entry.

    Args:
        model: Directory or hub name of a model.
        engine_options: Further arguments of `vllm.LLM`, for instance `max_model_len`,
            `gpu_memory_utilization` or `tensor_parallel_size`.

    Raises:
        MissingDependencyError: If vLLM is not installed.
    """

    def __init__(
        self, model: str | Path, *, engine_options: Mapping[str, Any] | None = None
    ) -> None:
        try:
            vllm = import_module("vllm")
            structured = import_module("vllm.sampling_params").StructuredOutputsParams
        except ImportError as error:
            raise MissingDependencyError(
                f"{error}: the vLLM engine needs the package vllm, in an environment that fits it"
            ) from error
        self._vllm, self._structured = vllm, structured
        options = {"enable_prefix_caching": True, **(engine_options or {})}
        self._engine: Any = vllm.LLM(model=str(model), **options)
        self._encoder = ChatEncoder(self._engine.get_tokenizer())
        self._name = f"vllm:{model}"

    @property
    def name(self) -> str:
        """Model and place."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """All but hidden states."""
        return Capabilities(notes={"engine": f"vLLM {self._vllm.__version__}"})

    @property
    def context_tokens(self) -> int:
        """`max_model_len` of the engine."""
        return int(self._engine.model_config.max_model_len)

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of `prompt`, exactly."""
        return len(self._encoder.encode(prompt).ids)

    def check_symbols(self, symbols: Sequence[str]) -> None:
        """Make sure that each symbol is a single token."""
        self._encoder.symbol_ids(symbols)

    def next_token_probabilities(
        self, prompts: Sequence[Prompt], symbols: Sequence[str]
    ) -> list[Reading]:
        """`[B]` distributions over `[K]` symbols, from the full vocabulary's softmax."""
        ids = self._encoder.symbol_ids(symbols)
        asked = [token for forms in ids for token in forms]
        outputs = self._run(prompts, max_tokens=1, temperature=0.0, logprob_token_ids=asked)
        return [_reading(output, ids) for output in outputs]

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        temperature: float = 0.7,
    ) -> list[Completion]:
        """`[B]` texts."""
        held = None if schema is None else self._structured(json=dict(schema))
        outputs = self._run(
            prompts,
            seed,
            max_tokens=max_tokens,
            temperature=0.0 if seed is None else temperature,
            structured_outputs=held,
        )
        said = [output.outputs[0] for output in outputs]
        return [Completion(one.text, tokens=len(one.token_ids)) for one in said]

    def hidden_states(self, prompts: Sequence[Prompt]) -> list[NDArray[np.float64] | None]:
        """The engine shows none."""
        raise ValueError(f"{self.name} shows no hidden states: use a model in this process")

    def healthy(self) -> bool:
        """Whether the engine is there."""
        return self._engine is not None

    def close(self) -> None:
        """Stop the engine; safe to call twice."""
        self._engine = None

    def _run(
        self, prompts: Sequence[Prompt], seed: int | None = None, **parameters: Any
    ) -> list[Any]:
        """`[B]` outputs of the engine, in the order of `prompts`."""
        encoded = [self._encoder.encode(prompt).ids for prompt in prompts]
        order = sorted(range(len(encoded)), key=lambda index: encoded[index])
        inputs = [{"prompt_token_ids": encoded[index]} for index in order]
        seeds = [None if seed is None else seed + index for index in order]
        sampling = [self._vllm.SamplingParams(seed=one, **parameters) for one in seeds]
        outputs = self._engine.generate(inputs, sampling, use_tqdm=False)
        placed = dict(zip(order, outputs, strict=True))
        return [placed[index] for index in range(len(encoded))]


def _reading(output: Any, ids: Sequence[Sequence[int]]) -> Reading:
    told = output.outputs[0].logprobs[0]
    found = {token: math.exp(entry.logprob) for token, entry in told.items()}
    sums = np.array([sum(found.get(token, 0.0) for token in forms) for forms in ids])
    mass = float(sums.sum())
    if not np.isfinite(mass) or mass <= 0:
        return Reading(error="the model gives the symbols no probability at all")
    return Reading(sums / mass, mass)
