"""Running a language model in this process.

Prompts that begin alike are worked through once up to where they differ: their keys and
values are computed for one row and expanded to the batch. For scoring on a CPU that is what
counts, since a batch takes as long there as its tokens one by one.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.world_models.language.backend import Capabilities, Completion, Prompt, Reading
from wmrl_gym.world_models.language.backends.batches import Group, Rows, shared_groups
from wmrl_gym.world_models.language.backends.chat import ChatEncoder, Encoded
from wmrl_gym.world_models.language.backends.form import Pick, Writing, fill_in, write_freely

_LATE = "the deadline of {:g} s passed before its turn"


class InProcessBackend:
    """Runs a causal language model in batches with a shared prefix.

    Args:
        tokenizer: The tokenizer of the model.
        model: Gives the model, at the first use.
        name: What it is called in messages.
        rows: Most prompts in one pass; less uses less memory.
        deadline_s: Seconds for one call; prompts that are not reached by then have no answer.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self, tokenizer: Any, model: Callable[[], Any], name: str, *, rows: int, deadline_s: float
    ) -> None:
        check_limits(rows, deadline_s)
        import torch

        self._torch = torch
        self._encoder = ChatEncoder(tokenizer)
        self._get_model = model
        self._rows = rows
        self._deadline_s = deadline_s
        self._name = name

    @property
    def _model(self) -> Any:
        return self._get_model()

    @property
    def name(self) -> str:
        """Model and place."""
        return self._name

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model."""
        return self._encoder.tokenizer

    @property
    def capabilities(self) -> Capabilities:
        """All of them; choices and forms are held to by the decoding loop."""
        return Capabilities(hidden_states=True, notes={"device": str(self._model.device)})

    @property
    def context_tokens(self) -> int:
        """Positions that the model knows."""
        return int(self._model.config.max_position_embeddings)

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

        def read(batch: Rows) -> list[Reading]:
            logits = self._forward(batch).logits[:, -1].float()
            return [_reading(row, ids) for row in logits.softmax(-1)]

        late = Reading(error=_LATE.format(self._deadline_s))
        return self._in_batches(prompts, read, late)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        temperature: float = 0.7,
    ) -> list[Completion]:
        """`[B]` texts; with a `schema`, forms that are filled in (`max_tokens` is then theirs)."""
        tokenizer = self._encoder.tokenizer
        pick, stops = self._pick(seed, temperature), self._stops()
        until = time.monotonic() + self._deadline_s

        def writing() -> Writing:
            if schema is not None:
                return fill_in(tokenizer, pick, stops, schema)
            return write_freely(tokenizer, pick, stops, max_tokens)

        def write(batch: Rows) -> list[Completion]:
            return self._write(batch, [writing() for _ in batch.rows], until)

        return self._in_batches(prompts, write, Completion(error=_LATE.format(self._deadline_s)))

    def hidden_states(self, prompts: Sequence[Prompt]) -> list[NDArray[np.float64] | None]:
        """`[B]` means over the tokens of `Prompt.own`, two thirds up the layers."""

        def state(batch: Rows) -> list[NDArray[np.float64] | None]:
            layers = self._forward(batch, trunk=True).hidden_states
            states = layers[2 * (len(layers) - 1) // 3]
            return [_mean(row, *span) for row, span in zip(states, batch.own_spans(), strict=True)]

        return self._in_batches(prompts, state, None, whole_own=True)

    def healthy(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing is held but memory, which goes with the object."""

    def _in_batches(
        self,
        prompts: Sequence[Prompt],
        work: Callable[[Rows], list[Any]],
        late: Any,
        *,
        whole_own: bool = False,
    ) -> list[Any]:
        """Do `work` batch by batch; `late` for what the deadline leaves undone."""
        until = time.monotonic() + self._deadline_s
        encoded = [self._encoder.encode(prompt) for prompt in prompts]
        results: list[Any] = [late] * len(prompts)
        groups = shared_groups(prompts, encoded, rows=self._rows, whole_own=whole_own)
        with self._torch.inference_mode():
            for group in groups:
                for batch in self._batches(group, encoded):
                    if time.monotonic() > until:
                        return results
                    for index, result in zip(batch.indices, work(batch), strict=True):
                        results[index] = result
        return results

    def _batches(self, group: Group, encoded: Sequence[Encoded]) -> Iterator[Rows]:
        layers = self._prefix_layers(group.prefix)
        for indices in group.batches:
            yield Rows(indices, [encoded[index] for index in indices], len(group.prefix), layers)

    def _prefix_layers(self, prefix: list[int]) -> list[tuple[Any, Any]]:
        """Keys and values of each layer for one row, or nothing for an empty prefix."""
        if not prefix:
            return []
        ids = self._torch.tensor([prefix], device=self._model.device)
        output = self._model.base_model(input_ids=ids, use_cache=True)
        return [(layer.keys, layer.values) for layer in _cache(output).layers]

    def _forward(self, batch: Rows, *, trunk: bool = False) -> Any:
        """One pass over what the prefix leaves of each row, padded on the left."""
        torch, device = self._torch, self._model.device
        width = max(map(len, batch.rows))
        pads = [width - len(row) for row in batch.rows]
        pad_id = next(iter(self._stops()), 0)
        ids = [[pad_id] * pad + row for pad, row in zip(pads, batch.rows, strict=True)]
        ones = [1] * batch.prefix
        mask = [ones + [0] * pad + [1] * (width - pad) for pad in pads]
        places = [[0] * pad + list(range(batch.prefix, batch.prefix + width - pad)) for pad in pads]
        batch.mask = torch.tensor(mask, device=device)
        batch.places = torch.tensor(places, device=device)
        model = self._model.base_model if trunk else self._model
        last = {"output_hidden_states": True} if trunk else {"logits_to_keep": 1}
        return model(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=batch.mask,
            position_ids=batch.places,
            use_cache=True,
            **{_cache_argument(model): batch.cache()},
            **last,
        )

    def _write(self, batch: Rows, writings: list[Writing], until: float) -> list[Completion]:
        """Write all texts of a batch in step, one token each at a time."""
        torch = self._torch
        results: dict[int, Completion] = {}
        for writing in writings:
            next(writing)
        output = self._forward(batch)
        written = 0
        while True:
            tokens = _next_tokens(writings, output.logits[:, -1].float(), results, written)
            written += 1
            if len(results) == len(writings):
                return [results[row] for row in range(len(writings))]
            if time.monotonic() > until:
                late = Completion(error=f"the deadline of {self._deadline_s:g} s passed")
                return [results.get(row, late) for row in range(len(writings))]
            batch.mask = torch.cat([batch.mask, torch.ones_like(batch.mask[:, :1])], dim=1)
            batch.places = batch.places[:, -1:] + 1
            output = self._model(
                input_ids=torch.tensor(tokens, device=self._model.device)[:, None],
                attention_mask=batch.mask,
                position_ids=batch.places,
                use_cache=True,
                **{_cache_argument(self._model): _cache(output)},
            )

    def _pick(self, seed: int | None, temperature: float) -> Pick:
        torch = self._torch
        generator = torch.Generator().manual_seed(seed or 0)

        def pick(logits: Any, allowed: Sequence[int] | None) -> int:
            chosen = logits if allowed is None else logits[list(allowed)]
            if seed is None:
                index = int(chosen.argmax())
            else:
                weights = (chosen / temperature).softmax(-1).cpu()
                index = int(torch.multinomial(weights, 1, generator=generator))
            return index if allowed is None else allowed[index]

        return pick

    def _stops(self) -> frozenset[int]:
        eos = self._model.generation_config.eos_token_id
        ids = eos if isinstance(eos, list) else [eos, self._encoder.tokenizer.eos_token_id]
        return frozenset(token for token in ids if token is not None)


def check_limits(rows: int, deadline_s: float) -> None:
    """Refuse limits that are out of their range."""
    if rows < 1 or not deadline_s > 0:
        raise ValueError(f"rows={rows} must be at least 1 and deadline_s={deadline_s} positive")


def _next_tokens(
    writings: list[Writing], logits: Any, results: dict[int, Completion], written: int
) -> list[int]:
    """`[B]` tokens to append to `written` ones; those of finished texts are of no consequence."""
    tokens = []
    for row, writing in enumerate(writings):
        token = 0
        if row not in results:
            try:
                token = writing.send(logits[row]) or 0
            except StopIteration as end:
                results[row] = Completion(text=end.value, tokens=written)
        tokens.append(token)
    return tokens


def _reading(probabilities: Any, ids: Sequence[Sequence[int]]) -> Reading:
    sums = np.array([float(probabilities[list(forms)].sum()) for forms in ids], dtype=np.float64)
    mass = float(sums.sum())
    if not np.isfinite(mass) or mass <= 0:
        return Reading(error="the model gives the symbols no probability at all")
    return Reading(sums / mass, mass)


def _mean(states: Any, start: int, end: int) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = states[start:end].float().mean(0).cpu().numpy().astype(np.float64)
    return mean


def _cache(output: Any) -> Any:
    return output.cache if "cache" in output else output.past_key_values


def _cache_argument(model: Any) -> str:
    # Renamed in transformers 5.24; the old name goes in 5.40.
    renamed = "cache" in inspect.signature(model.forward).parameters
    return "cache" if renamed else "past_key_values"
