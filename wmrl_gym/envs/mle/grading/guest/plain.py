"""Plain values as JSON, to be read from a process that nobody trusts.

Unlike a pickle, JSON can make nothing happen where it is read.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

_SEQUENCES = {"list": list, "tuple": tuple, "set": set}
_NUMBERS = "biuf"
"""Kinds of arrays: truth values, whole numbers and floats."""


def to_json(value: Any) -> Any:
    """`value` in the types of JSON, from which `from_json` makes it again.

    Raises:
        TypeError: If it is no number, text, bytes, array of numbers, list, tuple, set or
            dictionary of these.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        return {"array": [value.dtype.str, value.tolist()]}
    if isinstance(value, dict):
        return {"dict": [[to_json(key), to_json(held)] for key, held in value.items()]}
    for name, sequence in _SEQUENCES.items():
        if isinstance(value, sequence) or (name == "set" and isinstance(value, frozenset)):
            return {name: [to_json(held) for held in value]}
    raise TypeError(f"a {type(value).__name__} cannot be handed to the grader")


def from_json(content: Any) -> Any:
    """The value that `to_json` was given.

    Raises:
        ValueError: If `to_json` never wrote such a thing.
        TypeError: Likewise.
    """
    if content is None or isinstance(content, (bool, int, float, str)):
        return content
    name: str
    held: Any
    [(name, held)] = content.items() if isinstance(content, dict) else [("", None)]
    if name in _SEQUENCES:
        return _SEQUENCES[name](map(from_json, held))
    if name == "dict":
        return {from_json(key): from_json(value) for key, value in held}
    if name == "bytes":
        return base64.b64decode(held)
    if name == "array" and np.dtype(held[0]).kind in _NUMBERS:
        return np.array(held[1], dtype=held[0])
    raise ValueError(f"{name!r} is no kind of plain value")
