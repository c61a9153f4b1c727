"""Filling in a form token by token: structured output for a model without a grammar engine.

The model writes only the values. Names and punctuation are put in for it, a choice is held
to its options, and a text ends at its quotation mark or its limit, so the result is always
valid JSON of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

Pick = Callable[[Any, Sequence[int] | None], int]
"""Chooses a token from `[V]` logits, among the given ones if any are given."""
Writing = Generator[int | None, Any, str]
"""Takes logits, yields the token to append; returns the text. The first yield is `None`."""

_CHARACTERS_PER_TOKEN = 4


def write_freely(tokenizer: Any, pick: Pick, stops: frozenset[int], limit: int) -> Writing:
    """A text of at most `limit` tokens that ends at one of `stops`."""
    ids: list[int] = []
    logits = yield None
    while len(ids) < limit:
        token = pick(logits, None)
        if token in stops:
            break
        ids.append(token)
        logits = yield token
    return str(tokenizer.decode(ids, skip_special_tokens=True))


def fill_in(
    tokenizer: Any, pick: Pick, stops: frozenset[int], schema: Mapping[str, Any]
) -> Writing:
    """A JSON object with the properties of `schema`: enumerations, small integers, texts."""
    values: dict[str, Any] = {}
    logits = yield None
    for name, kind in schema["properties"].items():
        lead = f'{", " if values else "{"}"{name}": '
        options = _options(kind)
        for token in _ids(tokenizer, lead if options else f'{lead}"'):
            logits = yield token
        if options:
            values[name], logits = yield from _choose(tokenizer, pick, options, logits)
        else:
            values[name], logits = yield from _text(tokenizer, pick, stops, kind, logits)
    return json.dumps(values)


def _options(kind: Mapping[str, Any]) -> list[Any]:
    if "enum" in kind:
        return list(kind["enum"])
    if kind.get("type") == "integer":
        return list(range(kind["minimum"], kind["maximum"] + 1))
    return []


def _choose(
    tokenizer: Any, pick: Pick, options: Sequence[Any], logits: Any
) -> Generator[int, Any, tuple[Any, Any]]:
    # With what follows it, no option is the beginning of another.
    paths = {index: _ids(tokenizer, f"{json.dumps(o)},") for index, o in enumerate(options)}
    step = 0
    while len(paths) > 1:
        token = pick(logits, sorted({path[step] for path in paths.values()}))
        paths = {index: path for index, path in paths.items() if path[step] == token}
        logits = yield token
        step += 1
    ((index, path),) = paths.items()
    for token in path[step:-1]:  # the comma comes with the next name
        logits = yield token
    return options[index], logits


def _text(
    tokenizer: Any, pick: Pick, stops: frozenset[int], kind: Mapping[str, Any], logits: Any
) -> Generator[int, Any, tuple[str, Any]]:
    ids: list[int] = []
    limit = int(kind.get("maxLength", 200))
    while len(ids) * _CHARACTERS_PER_TOKEN < limit:
        token = pick(logits, None)
        if token in stops or '"' in tokenizer.decode([token]):
            break
        ids.append(token)
        logits = yield token
    for token in _ids(tokenizer, '"'):
        logits = yield token
    return str(tokenizer.decode(ids)).strip()[:limit], logits


def _ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
