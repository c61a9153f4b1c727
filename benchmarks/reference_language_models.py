"""Plain language models of characters: shares, a logistic regression, counts of runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

NAMES = ("dummy", "linear", "counts")

_SEEN = 6
"""Characters before the next one that the linear model sees."""
_LONGEST = 4
"""Characters of the longest run that is counted before the next one."""
_UNIFORM = 0.01
"""Share of the uniform distribution in every prediction: what was never seen is not impossible."""


def predict(
    name: str, train: pd.DataFrame, test: pd.DataFrame, classes: Sequence[str]
) -> NDArray[np.float64]:
    """`[N, K]` probabilities of the characters after the contexts of `test`."""
    if name == "counts":
        probabilities = _counted(train, test, classes)
    else:
        probabilities = _classified(name, train, test, classes)
    return (1 - _UNIFORM) * probabilities + _UNIFORM / len(classes)


def _classified(
    name: str, train: pd.DataFrame, test: pd.DataFrame, classes: Sequence[str]
) -> NDArray[np.float64]:
    estimator = LogisticRegression(max_iter=500) if name == "linear" else DummyClassifier()
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), estimator)
    model.fit(_last(train), train["next"].astype(str))
    probabilities = np.zeros((len(test), len(classes)))
    places = [classes.index(label) for label in model.classes_]
    probabilities[:, places] = model.predict_proba(_last(test))
    return probabilities


def _last(frame: pd.DataFrame) -> list[list[str]]:
    return [list(context[-_SEEN:]) for context in frame["context"]]


def _counted(
    train: pd.DataFrame, test: pd.DataFrame, classes: Sequence[str]
) -> NDArray[np.float64]:
    """Shares after runs of 0 to 4 characters, the longer mixed with the shorter (Witten-Bell)."""
    following: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for context, code in zip(train["context"], train["next"], strict=True):
        text = context + chr(int(code))
        for end in range(len(text)):
            for length in range(min(end, _LONGEST) + 1):
                following[text[end - length : end]][text[end]] += 1
    place = {chr(int(label)): k for k, label in enumerate(classes)}
    return np.array([_mixed(context, following, place) for context in test["context"]])


def _mixed(
    context: str, following: dict[str, Counter[str]], place: dict[str, int]
) -> NDArray[np.float64]:
    probabilities: NDArray[Any] = np.full(len(place), 1 / len(place))
    for length in range(_LONGEST + 1):
        counts = following.get(context[len(context) - length :])
        if not counts:
            break
        total = counts.total() + len(counts)
        probabilities *= len(counts) / total
        for character, count in counts.items():
            probabilities[place[character]] += count / total
    return probabilities
