"""Finding out what an OpenAI-compatible server really does.

Servers ignore fields that they do not know without a word, so nothing is taken from a
version or a name: each ability is tried once, with a question whose answer gives it away.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wmrl_gym.errors import WorldModelError
from wmrl_gym.world_models.language.backends.transport import RequestError, Transport

_UNLIKELY = "zqx"
"""What no model says unless it is made to."""
_QUESTION = [{"role": "user", "content": "Name one digit."}]
_DIGITS = tuple("0123456789")
_UNKNOWN_CONTEXT = 8192


@dataclass(frozen=True)
class Findings:
    """What a server was seen to do."""

    model: str
    context_tokens: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields for every request that it accepts."""
    limit_field: str = "max_tokens"
    top_logprobs: int = 0
    """Most log-probabilities that it tells for a token; 0 if none."""
    prefill: Mapping[str, Any] | None = None
    """Fields that make it go on with an answer that was begun; `None` if it cannot."""
    schema: bool = False
    constraint: str = "none"
    """How a choice can be enforced: `choice`, `grammar` or `none`."""
    constrained_logprobs: str = "unknown"
    """Under such a constraint: `raw`, `renormalised` or `unknown`."""
    tokenize: str = ""
    """Address that tells tokens, if there is one."""
    token_ids: bool = False
    """Whether `logprob_token_ids` is honoured: exact probabilities of any tokens."""
    list_prompts: bool = False

    def notes(self) -> dict[str, str]:
        """What is worth telling, by name."""
        return {
            "model": self.model,
            "context": f"{self.context_tokens} tokens",
            "log-probabilities per token": str(self.top_logprobs),
            "constraint on a choice": self.constraint,
            "log-probabilities under it": self.constrained_logprobs,
            "probabilities of chosen tokens": "exact" if self.token_ids else "among the likeliest",
            "tokenizer": "asked" if self.tokenize else "not offered: lengths are estimated",
            "lists of prompts": "yes" if self.list_prompts else "no",
        }


def probe(transport: Transport, model: str | None) -> Findings:
    """Try out a server.

    Args:
        transport: The way to it.
        model: Name of the model; `None` if it serves one only.

    Raises:
        WorldModelError: If no server answers, or it does not answer questions.
        ValueError: If it does not serve that model.
    """
    return _Probe(transport, model).findings()


class _Probe:
    def __init__(self, transport: Transport, model: str | None) -> None:
        self.transport = transport
        self.entry = self._model_entry(model)
        self.model = str(self.entry.get("id", model))
        self.extra: dict[str, Any] = {}
        self.limit_field = "max_tokens"

    def findings(self) -> Findings:
        self._find_common_fields()
        top = next((n for n in (20, 10, 5) if self._logprobs(n) is not None), 0)
        constraint = self._constraint()
        tokenize = self._tokenize()
        return Findings(
            model=self.model,
            context_tokens=self._context(),
            extra=self.extra,
            limit_field=self.limit_field,
            top_logprobs=top,
            prefill=self._prefill(),
            schema=self._schema(),
            constraint=constraint,
            constrained_logprobs=self._constrained(constraint, top),
            tokenize=tokenize,
            token_ids=bool(tokenize and top) and self._token_ids(tokenize),
            list_prompts=self._list_prompts(),
        )

    def _model_entry(self, model: str | None) -> Mapping[str, Any]:
        url = self.transport.url
        try:
            listed = self.transport.call("/models", method="GET")["data"]
        except RequestError as error:
            if error.status in (404, 405) and model is not None:
                return {"id": model}
            raise WorldModelError(_no_answer(url, error)) from error
        except (KeyError, TypeError) as error:
            raise WorldModelError(f"{url}/models lists no models: is it the right URL?") from error
        found = [e for e in listed if model in (None, e["id"], *e.get("aliases", ()))]
        if len(found) == 1:
            return {**found[0], "id": model or found[0]["id"]}
        names = [entry["id"] for entry in listed]
        raise ValueError(
            f"model={model!r} is not the one to ask for at {url}: choose among {names}"
        )

    def _find_common_fields(self) -> None:
        """Which fields a plain request may have."""
        quiet = {"chat_template_kwargs": {"enable_thinking": False}}
        for extra in (quiet, {}):
            for limit_field in ("max_tokens", "max_completion_tokens"):
                self.extra, self.limit_field = extra, limit_field
                try:
                    self._ask(_QUESTION, 1)
                    return
                except RequestError as error:
                    refusal = error
                    if error.status not in (400, 422):
                        break
        raise WorldModelError(
            f"{self.transport.url} does not answer a plain question: {refusal}"
        ) from refusal

    def _ask(self, messages: Any, limit: int, **fields: Any) -> Mapping[str, Any]:
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": 0,
            self.limit_field: limit,
            **self.extra,
            **fields,
        }
        choice: Mapping[str, Any] = self.transport.call("/chat/completions", body)["choices"][0]
        return choice

    def _try(self, messages: Any, limit: int, **fields: Any) -> str:
        """The answer; the empty string if there is none."""
        try:
            return str(self._ask(messages, limit, **fields)["message"]["content"] or "")
        except RequestError as error:
            self._require_refusal(error)
            return ""
        except (KeyError, TypeError, IndexError):
            return ""

    def _logprobs(self, count: int, **fields: Any) -> dict[str, float] | None:
        try:
            asked = self._ask(_QUESTION, 1, logprobs=True, top_logprobs=count, **fields)
            return top_logprobs(asked)
        except RequestError as error:
            self._require_refusal(error)
            return None
        except (KeyError, TypeError, IndexError):
            return None

    def _require_refusal(self, error: RequestError) -> None:
        """What a server refuses it does not offer; what it is too slow for it may well offer."""
        if not error.status:
            raise WorldModelError(
                f"{self.transport.url} did not answer while it was tried out ({error}): see "
                f"whether it is overloaded, or raise deadline_s={self.transport.deadline_s:g}"
            ) from error

    def _prefill(self) -> dict[str, Any] | None:
        begun = "q w e r q w e r q w e r q w"
        messages = [*_QUESTION, {"role": "assistant", "content": begun}]
        flags = {"continue_final_message": True, "add_generation_prompt": False}
        for fields in (flags, {}):
            answer = self._try(messages, 2, **fields)
            if answer.removeprefix(begun).strip().startswith("e"):
                return dict(fields)
        return None

    def _schema(self) -> bool:
        schema = {
            "type": "object",
            "properties": {"word": {"enum": [_UNLIKELY]}},
            "required": ["word"],
            "additionalProperties": False,
        }
        answer = self._try(_QUESTION, 80, response_format=response_format(schema))
        try:
            return bool(json.loads(answer) == {"word": _UNLIKELY})
        except ValueError:
            return False

    def _constraint(self) -> str:
        for kind in ("choice", "grammar"):
            if self._try(_QUESTION, 8, **_held_to(kind, [_UNLIKELY])).strip() == _UNLIKELY:
                return kind
        return "none"

    def _constrained(self, kind: str, top: int) -> str:
        if kind == "none" or not top:
            return "unknown"
        told = self._logprobs(top, **_held_to(kind, ["7", "8"])) or {}
        others = sum(math.exp(p) for token, p in told.items() if token.strip() not in ("7", "8"))
        return "raw" if others > 1e-3 else "renormalised"

    def _tokenize(self) -> str:
        address = self.transport.url.removesuffix("/v1") + "/tokenize"
        return address if token_count(self.transport, address, self.model, "7") == 1 else ""

    def _token_ids(self, address: str) -> bool:
        ids = [tokens(self.transport, address, self.model, digit) for digit in _DIGITS]
        if not all(len(one) == 1 for one in ids):
            return False
        told = self._logprobs(1, logprob_token_ids=[one[0] for one in ids]) or {}
        return set(_DIGITS) <= {token.strip() for token in told}

    def _list_prompts(self) -> bool:
        body = {"model": self.model, "prompt": ["a", "b"], "max_tokens": 1}
        try:
            return len(self.transport.call("/completions", body)["choices"]) == 2
        except (RequestError, KeyError, TypeError):
            return False

    def _context(self) -> int:
        meta = self.entry.get("meta") or {}
        known = self.entry.get("max_model_len") or meta.get("n_ctx") or _UNKNOWN_CONTEXT
        return int(known)


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field that asks for a JSON schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": dict(schema), "strict": True},
    }


def top_logprobs(choice: Mapping[str, Any]) -> dict[str, float]:
    """Natural log-probabilities told for the first token, by token."""
    first = choice["logprobs"]["content"][0]
    told = {str(entry["token"]): float(entry["logprob"]) for entry in first["top_logprobs"]}
    return told or {str(first["token"]): float(first["logprob"])}


def tokens(transport: Transport, address: str, model: str, text: str) -> list[int]:
    """The tokens of `text` by the server's own account; none if it gives no account."""
    body = {"model": model, "prompt": text, "content": text, "add_special_tokens": False}
    for fields in (body, {"model": model, "prompt": text, "add_special_tokens": False}):
        try:
            return [int(token) for token in transport.call(address, fields)["tokens"]]
        except (RequestError, KeyError, TypeError, ValueError):
            continue
    return []


def token_count(transport: Transport, address: str, model: str, text: str) -> int:
    """How many they are; 0 if the server does not say."""
    return len(tokens(transport, address, model, text))


def _held_to(kind: str, words: list[str]) -> dict[str, Any]:
    if kind == "choice":
        return {"structured_outputs": {"choice": words}}
    return {"grammar": "root ::= " + " | ".join(json.dumps(word) for word in words)}


def _no_answer(url: str, error: RequestError) -> str:
    if error.status in (401, 403):
        return f"{url} refuses access ({error.status}): set the environment variable OPENAI_API_KEY"
    return (
        f"no model server answers at {url} ({error}): start one there, or correct the URL; it "
        "usually ends in /v1"
    )
