"""A language model in a vLLM engine of this process.

Prompts are handed over in the order of what they share, so that the engine's prefix cache
finds it; the probabilities of the symbols are asked for by token, so that they are those of
the whole vocabulary.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError, WorldModelError
from wmrl_gym.world_models.language.backend import Capabilities, Completion, Prompt, Reading
from wmrl_gym.world_models.language.backends.chat import ChatEncoder
from wmrl_gym.world_models.language.backends.deadline import within


class VLLMBackend:
    """Runs an offline engine.

    The engine starts a process of its own: a program that makes one needs the usual
    `if __name__ == "__main__":` around its entry.

    A call that takes longer than the deadline has no answers, nor has any other until the engine
    is done with it. An engine that has died is not asked again.

    Args:
        model: Directory or hub name of a model.
        engine_options: Further arguments of `vllm.LLM`, for instance `max_model_len`,
            `gpu_memory_utilization` or `tensor_parallel_size`.
        deadline_s: Seconds for one call. The start has vLLM's own limit.

    Raises:
        MissingDependencyError: If vLLM is not installed.
        WorldModelError: If the engine does not start: an unknown model, an unknown option, too
            little memory.
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        engine_options: Mapping[str, Any] | None = None,
        deadline_s: float = 600.0,
    ) -> None:
        if not deadline_s > 0:
            raise ValueError(f"deadline_s={deadline_s} must be positive")
        try:
            vllm = import_module("vllm")
            structured = import_module("vllm.sampling_params").StructuredOutputsParams
        except ImportError as error:
            raise MissingDependencyError(
                f"{error}: the vLLM engine needs the package vllm, in an environment that fits it"
            ) from error
        self._vllm, self._structured = vllm, structured
        self._name = f"vllm:{model}"
        self._deadline_s = deadline_s
        self._busy = threading.Lock()
        """Held while the engine works, also beyond the deadline of a call."""
        self._died = ""
        """Why the engine cannot be asked any more."""
        options = {"enable_prefix_caching": True, **(engine_options or {})}
        try:
            self._engine: Any = vllm.LLM(model=str(model), **options)
            self._encoder = ChatEncoder(self._engine.get_tokenizer())
            self._context_tokens = int(self._engine.model_config.max_model_len)
        except Exception as error:
            raise WorldModelError(
                f"{self._name}: the engine does not start with {options}: {_told(error)}; give the "
                "directory or hub name of a model that vLLM can run, and options that leave it "
                "enough memory, as in 'vllm:MODEL?gpu_memory_utilization=0.3&max_model_len=4096'"
            ) from error

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
        return self._context_tokens

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
        return [
            Reading(error=output) if isinstance(output, str) else _reading(output, ids)
            for output in outputs
        ]

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
        return [
            Completion(error=output) if isinstance(output, str) else _completion(output)
            for output in outputs
        ]

    def hidden_states(self, prompts: Sequence[Prompt]) -> list[NDArray[np.float64] | None]:
        """The engine shows none."""
        raise ValueError(f"{self.name} shows no hidden states: use a model in this process")

    def healthy(self) -> bool:
        """Whether the engine is there, and not at work on a call that was given up."""
        return self._engine is not None and not self._died and not self._busy.locked()

    def close(self) -> None:
        """Stop the engine; safe to call twice."""
        self._engine = None

    def _run(
        self, prompts: Sequence[Prompt], seed: int | None = None, **parameters: Any
    ) -> list[Any]:
        """`[B]` outputs of the engine, in the order of `prompts`; of one without, the reason."""
        encoded = [self._encoder.encode(prompt).ids for prompt in prompts]
        room = self.context_tokens
        long = f"a prompt of {{}} tokens leaves no room for an answer in the {room} of {self.name}"
        placed: dict[int, Any] = {
            index: long.format(len(ids)) for index, ids in enumerate(encoded) if len(ids) >= room
        }
        order = sorted(set(range(len(encoded))) - set(placed), key=lambda index: encoded[index])
        inputs = [{"prompt_token_ids": encoded[index]} for index in order]
        seeds = [None if seed is None else seed + index for index in order]
        sampling = [self._vllm.SamplingParams(seed=one, **parameters) for one in seeds]
        if inputs:
            placed |= zip(order, self._ask_engine(inputs, sampling), strict=True)
        return [placed[index] for index in range(len(encoded))]

    def _ask_engine(self, inputs: Sequence[Any], sampling: Sequence[Any]) -> Sequence[Any]:
        """What the engine says; if it fails, why, for each of them."""
        if self._engine is None:
            return [f"{self.name} is closed"] * len(inputs)
        if self._died:
            return [self._died] * len(inputs)
        if self._busy.locked():
            return [f"{self.name} is still at a call that took too long"] * len(inputs)
        engine = self._engine

        def ask() -> Sequence[Any]:
            with self._busy:
                outputs: Sequence[Any] = engine.generate(inputs, sampling, use_tqdm=False)
                return outputs

        try:
            return within(self._deadline_s, ask)
        except TimeoutError:
            return [f"the deadline of {self._deadline_s:g} s passed"] * len(inputs)
        except ValueError as error:  # of the request; the engine is well
            return [f"{self.name} refuses: {_told(error)}"] * len(inputs)
        except Exception as error:
            self._died = f"{self.name} has died: {_told(error)}"
            return [self._died] * len(inputs)


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _completion(output: Any) -> Completion:
    said = output.outputs[0]
    return Completion(said.text, tokens=len(said.token_ids))


def _reading(output: Any, ids: Sequence[Sequence[int]]) -> Reading:
    told = output.outputs[0].logprobs[0]
    found = {token: math.exp(entry.logprob) for token, entry in told.items()}
    sums = np.array([sum(found.get(token, 0.0) for token in forms) for forms in ids])
    mass = float(sums.sum())
    if not np.isfinite(mass) or mass <= 0:
        return Reading(error="the model gives the symbols no probability at all")
    return Reading(sums / mass, mass)
