"""What an action looks like on the wire: JSON for each kind of space."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from gymnasium import spaces

_ARRAYS = (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)


def decode_action(space: spaces.Space[Any], value: Any) -> Any:
    """The action that a JSON value stands for.

    Text is itself, and any other value its JSON text. A list becomes an array of the dtype
    of its space if that loses nothing. What cannot become an action is left as it is, for
    the environment to judge.

    Args:
        space: Action space, or a part of one.
        value: A JSON value.
    """
    if isinstance(space, spaces.Text):
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(space, spaces.Dict) and isinstance(value, dict):
        return {
            key: decode_action(space[key], part) if key in space.keys() else part  # noqa: SIM118  # a Dict space is no dict
            for key, part in value.items()
        }
    if isinstance(space, spaces.Tuple) and isinstance(value, list):
        return tuple(map(decode_action, space.spaces, value))
    if isinstance(space, _ARRAYS):
        return _array(value, np.dtype(space.dtype))
    return value


def action_schema(space: spaces.Space[Any]) -> dict[str, Any]:
    """JSON schema of the actions of a space, as far as schemas go."""
    return {"description": str(space), **_constraints(space)}


def _constraints(space: spaces.Space[Any]) -> dict[str, Any]:
    match space:
        case spaces.Text():
            return {"type": "string"}
        case spaces.Discrete():
            low = int(space.start)
            return {"type": "integer", "minimum": low, "maximum": low + int(space.n) - 1}
        case spaces.Dict():
            parts = {str(key): action_schema(part) for key, part in space.items()}
            return {"type": "object", "properties": parts}
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary() | spaces.Tuple():
            return {"type": "array"}
    return {}


def _array(value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    # An integer fits a float; a fraction would be cut off to fit an integer.
    return array.astype(dtype) if np.can_cast(array.dtype, dtype, "same_kind") else value
