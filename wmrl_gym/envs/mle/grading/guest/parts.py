"""What callers of foreign graders get, and what their results have to be."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_PUBLIC_SHARE = 4
"""One in this many rows is public."""


@dataclass(frozen=True)
class Part:
    """Rows to grade."""

    submission: pd.DataFrame
    answers: Any
    """A table with the same rows, or the answers of whatever kind as they are."""
    rows: NDArray[np.bool_] | None = None
    """`[N]` which rows of the answers they are; `None` for all."""


Metric = Callable[[Part], Any]
"""Calls a grader."""


def blame(error: Exception) -> str:
    """Says that the grader fails on this submission, without its words, which may quote answers."""
    return f"the grader cannot grade it ({type(error).__name__}), though it grades others"


def seed(number: int = 0) -> None:
    """Seed what graders draw random numbers from, so that a grade can be repeated."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  # graders use the global generator


def finite(value: Any) -> float:
    """A metric as a Python float.

    Raises:
        ArithmeticError: If it is not finite.
        TypeError: If it is no number.
    """
    number = float(value)
    if not math.isfinite(number):
        raise ArithmeticError(f"the grader gave {number}")
    return number


def public_rows(ids: tuple[str, ...]) -> NDArray[np.bool_]:
    """`[N]` which rows are public: a quarter, chosen by a hash of the id alone."""
    digests = (hashlib.blake2b(key.encode(), digest_size=2).digest() for key in ids)
    numbers = (int.from_bytes(digest, "big") for digest in digests)
    return np.fromiter((number % _PUBLIC_SHARE == 0 for number in numbers), bool, len(ids))
