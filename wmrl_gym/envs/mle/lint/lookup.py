"""What one column alone says about a target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.mle.lint.parts import Column


def explained(feature: tuple[Column, Column], target: tuple[Column, Column]) -> float:
    """How well test rows are answered from the training rows nearest in one column.

    Args:
        feature: A column of the training and of the test rows.
        target: Targets of the training rows and answers of the test rows.

    Returns:
        Share of the error of a constant answer that goes away, at most 1: of the wrong answers
        for labels, of the squared error for numbers. 0 if the constant is always right.
    """
    known, answers = target
    groups, nearest = _groups(feature)
    if known.dtype.kind == "U":
        error = np.mean(_frequent(groups, known)[nearest] != answers)
        constant = np.mean(_frequent(np.zeros_like(groups), known)[0] != answers)
    else:
        means = np.bincount(groups, weights=known) / np.bincount(groups)
        error = np.mean((means[nearest] - answers) ** 2)
        constant = np.mean((known.mean() - answers) ** 2)
    return float(1 - error / constant) if constant > 0 else 0.0


def _groups(feature: tuple[Column, Column]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group of each training row by its value, and the group nearest to each test row."""
    train, test = feature
    if train.dtype.kind != "U":
        gap = np.nanmin(np.concatenate(feature), initial=0.0) - 1
        train, test = (np.where(np.isnan(half), gap, half) for half in feature)
    values, groups = np.unique(train, return_inverse=True)
    above = np.searchsorted(values, test).clip(0, len(values) - 1)
    if train.dtype.kind == "U":  # an unknown text is answered like whichever text it sorts before
        return groups, above
    below = (above - 1).clip(0)
    closer = np.abs(values[below] - test) < np.abs(values[above] - test)
    return groups, np.where(closer, below, above)


def _frequent(groups: NDArray[np.intp], labels: Column) -> Column:
    """The most frequent label of each group."""
    names, codes = np.unique(labels, return_inverse=True)
    pairs, counts = np.unique(groups * len(names) + codes, return_counts=True)
    by_count = np.lexsort((counts, pairs // len(names)))
    frequent = np.zeros(int(groups.max()) + 1, dtype=np.intp)
    frequent[(pairs // len(names))[by_count]] = (pairs % len(names))[by_count]  # the last one stays
    return names[frequent]


def one_to_one(a: Column, b: Column) -> bool:
    """Whether each value of one column goes with one value of the other, both ways."""
    codes = [np.unique(column, return_inverse=True)[1] for column in (a, b)]
    sizes = [int(code.max()) + 1 for code in codes]
    return sizes[0] == sizes[1] == len(np.unique(codes[0] * sizes[1] + codes[1]))
