"""A language model behind any OpenAI-compatible server: vLLM, SGLang, llama.cpp, hosted ones."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.world_models.language.backend import Capabilities, Completion, Prompt, Reading
from wmrl_gym.world_models.language.backends.probe import (
    Findings,
    probe,
    response_format,
    token_count,
    tokens,
    top_logprobs,
)
from wmrl_gym.world_models.language.backends.transport import RequestError, Transport

_CHARACTERS_PER_TOKEN = 2.0
"""A careful guess: code has three to four."""
_BROKEN = (RequestError, KeyError, TypeError, IndexError, ValueError)


class ServerBackend:
    """Asks a server, many prompts at once.

    At construction the server is tried out (`probe`); what it does not offer is done without,
    and `capabilities.summary()` tells which. The key, if it needs one, is read from the
    environment variable `OPENAI_API_KEY`.

    Args:
        url: Base address, usually ending in `/v1`.
        model: Name of the model there; `None` if there is one only.
        concurrency: Requests at once.
        deadline_s: Seconds for one request with all its attempts.

    Raises:
        WorldModelError: If no server answers there.
        MissingDependencyError: If httpx is not installed.
        ValueError: If it does not serve that model, or an argument is out of its range.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        concurrency: int = 16,
        deadline_s: float = 120.0,
    ) -> None:
        key = os.environ.get("OPENAI_API_KEY")
        self._transport = Transport(
            url, api_key=key, concurrency=concurrency, deadline_s=deadline_s
        )
        try:
            self.findings = probe(self._transport, model)
        except BaseException:
            self._transport.close()
            raise
        self._ids: dict[str, int] = {}

    @property
    def name(self) -> str:
        """Model and place."""
        return f"openai:{self._transport.url}#{self.findings.model}"

    @property
    def capabilities(self) -> Capabilities:
        """What the server was seen to do."""
        found: Findings = self.findings
        return Capabilities(
            probabilities=found.top_logprobs > 0,
            schema=found.schema,
            prefill=found.prefill is not None,
            notes=found.notes(),
        )

    @property
    def context_tokens(self) -> int:
        """By the server's own account, else a usual number."""
        return self.findings.context_tokens

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of `prompt`: a careful guess; exactly where it matters and the server tells."""
        text = "\n\n".join(message["content"] for message in _messages(prompt))
        guess = int(len(text) / _CHARACTERS_PER_TOKEN)
        if guess <= self.context_tokens // 2 or not self.findings.tokenize:
            return guess
        found = self.findings
        # The chat template adds a few tokens for each turn.
        around = 16 * (2 + len(prompt.turns))
        count = token_count(self._transport, found.tokenize, found.model, text)
        return count + around if count else guess

    def check_symbols(self, symbols: Sequence[str]) -> None:
        """Make sure that each symbol is a single token, as far as the server tells tokens."""
        for symbol in symbols:
            found = self._tokens(symbol)
            if len(found) > 1 or (not found and len(symbol) != 1):
                raise ValueError(
                    f"symbol {symbol!r} is not a single token of {self.findings.model}: "
                    "choose symbols that are"
                )
            self._ids.update({symbol: found[0]} if found else {})

    def next_token_probabilities(
        self, prompts: Sequence[Prompt], symbols: Sequence[str]
    ) -> list[Reading]:
        """`[B]` distributions over `[K]` symbols, without any constraint on the model.

        Where the server tells the likeliest tokens only, symbols that are not among them
        count as impossible.
        """
        count = self.findings.top_logprobs
        fields: dict[str, Any] = {"logprobs": True, "top_logprobs": count}
        if self.findings.token_ids and set(symbols) <= set(self._ids):
            fields["logprob_token_ids"] = [self._ids[symbol] for symbol in symbols]

        def read(prompt: Prompt) -> Reading:
            try:
                return _reading(top_logprobs(self._ask(prompt, 1, fields)), symbols)
            except _BROKEN as error:
                return Reading(error=_told(error))

        return self._transport.map(read, prompts, [prompt.label for prompt in prompts])

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        temperature: float = 0.7,
    ) -> list[Completion]:
        """`[B]` texts, one request each."""
        fields: dict[str, Any] = {}
        if schema is not None and self.findings.schema:
            fields["response_format"] = response_format(schema)

        def write(index: int) -> Completion:
            prompt = prompts[index]
            drawn = {} if seed is None else {"seed": seed + index, "temperature": temperature}
            try:
                choice = self._ask(prompt, max_tokens, {**fields, **drawn})
                content = str(choice["message"]["content"] or "")
                # Some servers repeat how the answer was begun.
                return Completion(content.removeprefix(prompt.prefill), tokens=_written(choice))
            except _BROKEN as error:
                return Completion(error=_told(error))

        names = [prompt.label for prompt in prompts]
        return self._transport.map(write, range(len(prompts)), names)

    def hidden_states(self, prompts: Sequence[Prompt]) -> list[NDArray[np.float64] | None]:
        """Servers show none."""
        raise ValueError(f"{self.name} shows no hidden states: use a model in this process")

    def healthy(self) -> bool:
        """Whether the server answered when it was last asked."""
        return self._transport.healthy()

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self._transport.close()

    def _ask(self, prompt: Prompt, limit: int, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        found = self.findings
        begun = found.prefill if prompt.prefill else {}
        body = {
            "model": found.model,
            "messages": _messages(prompt),
            "temperature": 0,
            found.limit_field: limit,
            **found.extra,
            **(begun or {}),
            **fields,
        }
        answer = self._transport.call("/chat/completions", body)
        return {**answer["choices"][0], "usage": answer.get("usage")}

    def _tokens(self, symbol: str) -> list[int]:
        found = self.findings
        if not found.tokenize:
            return []
        return tokens(self._transport, found.tokenize, found.model, symbol)


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    system = [("system", prompt.system)] if prompt.system else []
    turns = [*system, ("user", prompt.shared + prompt.own), *prompt.turns]
    if prompt.prefill:
        turns.append(("assistant", prompt.prefill))
    return [{"role": role, "content": text} for role, text in turns]


def _written(choice: Mapping[str, Any]) -> int:
    usage = choice["usage"]
    return int(usage.get("completion_tokens") or 0) if isinstance(usage, dict) else 0


def _reading(told: Mapping[str, float], symbols: Sequence[str]) -> Reading:
    sums = np.zeros(len(symbols))
    for token, logarithm in told.items():
        if token.strip() in symbols:
            sums[list(symbols).index(token.strip())] += math.exp(min(logarithm, 0.0))
    mass = float(sums.sum())
    if mass <= 0:
        return Reading(error="none of the symbols is among the tokens that the server tells")
    return Reading(sums / mass, mass)


def _told(error: Exception) -> str:
    known = isinstance(error, RequestError)
    return str(error) if known else f"the answer is not of the expected form: {error!r}"
