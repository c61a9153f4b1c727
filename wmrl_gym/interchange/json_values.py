"""Actions, observations and infos as strict JSON, and back.

Text, numbers, lists and dicts stay what they are. An array becomes an object of its dtype,
its shape and its values, so that it comes back as the array that it was. JSON has neither
NaN nor infinities: both become null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_ARRAY_KEYS = {"dtype", "shape", "values"}


def to_json_value(value: Any) -> Any:
    """`value` as `json` can write it.

    Args:
        value: Anything. What has no counterpart in JSON becomes its `str`.

    Returns:
        Fresh dicts, lists, strings, numbers, booleans and `None`, nothing of `value` itself.
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        # An escape of half a character is something that strict parsers refuse.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {str(key): to_json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json_value(part) for part in value]
    return _array_or_text(value)


def from_json_value(value: Any) -> Any:
    """What `to_json_value` was given, as far as JSON tells: tuples come back as lists."""
    if isinstance(value, list):
        return [from_json_value(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == _ARRAY_KEYS:
        return _array(value)
    return {key: from_json_value(part) for key, part in value.items()}


def plain_json_value(value: Any) -> Any:
    """`to_json_value` with arrays as nested lists, for readers that want no more than that."""
    return _without_dtypes(to_json_value(value))


def json_line(value: Any) -> bytes:
    """One line of strict JSON in ASCII, its end included."""
    return (json.dumps(value, allow_nan=False) + "\n").encode("ascii")


def _array_or_text(value: Any) -> Any:
    if not hasattr(value, "__array__"):
        return str(value)
    array = np.asarray(value)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "values": to_json_value(array.tolist()),
    }


def _array(fields: dict[str, Any]) -> Any:
    dtype = np.dtype(fields["dtype"])
    if dtype.kind == "c":
        return np.array(fields["values"]).astype(dtype).reshape(fields["shape"])
    # null is NaN where the dtype has one.
    return np.array(fields["values"], dtype=dtype).reshape(fields["shape"])


def _without_dtypes(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_dtypes(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == _ARRAY_KEYS:
        return value["values"]
    return {key: _without_dtypes(part) for key, part in value.items()}
