"""Ids and orders of rows that follow the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from wmrl_gym.envs.mle.lint.findings import Finding, Severity
from wmrl_gym.envs.mle.lint.parts import Column, Parts
from wmrl_gym.envs.mle.lint.statistics import correlation, persistence, separation

SERIOUS = 0.8
"""Effect from which on an order gives answers away, rather than hints."""
_SAME = 0.999
"""Rank correlation from which on an order is that of a feature, and says nothing more."""


def follows_target(parts: Parts) -> Iterator[Finding]:
    """Ids, or the order of rows, from which the target can be guessed.

    Ids are put in natural order (`row-2` before `row-10`). An order that a feature has too,
    such as that of a date, tells a solver nothing new and is passed over.
    """
    seen: list[NDArray[np.float64]] = []
    for what, order, rows in _orders(parts):
        if any(np.array_equal(order, other) for other in seen):
            continue
        seen.append(order)
        for target in parts.targets:
            values = np.concatenate(parts.target(target))[rows]
            yield from _judge(parts, what, order, rows, target, values)


def _orders(parts: Parts) -> Iterator[tuple[str, NDArray[np.float64], slice]]:
    """What is in order, its ranks, and which of all rows, those of train first, it covers."""
    trained, everything = len(parts.train), len(parts.train) + len(parts.test)
    hidden = slice(trained, everything)
    yield "the order of rows in test.csv", np.arange(len(parts.test), dtype=float), hidden
    ids = parts.test[parts.id_column].tolist()
    yield f"the order of {parts.id_column!r} in test.csv", natural_ranks(ids), hidden
    train_ids = parts.train.get(parts.id_column)
    if train_ids is not None and not set(train_ids) & set(ids):
        both = natural_ranks([*train_ids, *ids])
        yield f"the order of {parts.id_column!r} in both files", both, slice(0, everything)


def _judge(
    parts: Parts,
    what: str,
    order: NDArray[np.float64],
    rows: slice,
    target: str,
    values: Column,
) -> Iterator[Finding]:
    trend = separation(order, values)
    strength = max(trend, persistence(values[np.argsort(order, kind="stable")]))
    if not strength or _is_feature(parts, order, rows):
        return
    severity = Severity.ERROR if strength >= SERIOUS else Severity.WARNING
    verb = "separates" if trend else "groups"
    message = f"{what} {verb} values of {target!r} (strength {strength:.2f} of 1)"
    yield Finding("id-order", severity, message)


def _is_feature(parts: Parts, order: NDArray[np.float64], rows: slice) -> bool:
    for column in parts.features.values():
        values = np.concatenate(column)[rows]
        ranks = natural_ranks(values.tolist()) if values.dtype.kind == "U" else rankdata(values)
        if abs(correlation(ranks, rankdata(order))) >= _SAME:
            return True
    return False


def natural_ranks(texts: Sequence[str]) -> NDArray[np.float64]:
    """`[N]` ranks, from 1, with the numbers within the texts compared as numbers."""
    keys = [_natural(text) for text in texts]
    place = {key: rank for rank, key in enumerate(sorted(set(keys)), start=1)}
    return np.array([place[key] for key in keys], dtype=float)


def _natural(text: str) -> tuple[str | int, ...]:
    # Text and digits alternate, so that like is compared with like.
    pieces = re.split(r"([0-9]+)", text)
    return tuple(int(piece) if number % 2 else piece for number, piece in enumerate(pieces))
