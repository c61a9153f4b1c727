"""Saved episodes as bytes: one line of JSON about the episode, then the simulator's numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(header: dict[str, Any], physics: NDArray[np.float64]) -> bytes:
    """The bytes that `unpack` takes apart again."""
    return json.dumps(header).encode() + b"\n" + physics.tobytes()


def unpack(state: bytes) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Header and numbers of a packed state.

    Raises:
        ValueError: If it is no packed state.
    """
    line, _, physics = state.partition(b"\n")
    try:
        header = json.loads(line)
        numbers = np.frombuffer(physics).copy()  # MuJoCo refuses what is read-only
    except ValueError as error:
        raise ValueError("state is not what save_state() returned") from error
    if not isinstance(header, dict):
        raise ValueError("state is not what save_state() returned")
    return header, numbers
