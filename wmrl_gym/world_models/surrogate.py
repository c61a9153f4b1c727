"""A world model that is learned from the real executions of the run itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel
from wmrl_gym.world_models.features import parse, script_features

Array = NDArray[np.float64]

_STATUSES = [status for status in Status if status is not Status.UNSCORED]


@dataclass(frozen=True)
class _Example:
    """A real outcome, and the numbers that it is to be predicted from."""

    task: str
    status: int
    score: float
    seconds: float
    features: Mapping[str, float]
    parsed: bool
    """Whether the artifact is a Python program."""


def _features(execution: Execution) -> tuple[dict[str, float], bool]:
    """Every number known about an execution, and whether its artifact is a program."""
    tree = parse(execution.artifact)
    words = {} if tree is None else script_features(tree)
    timeout = {"timeout/log_s": float(np.log(execution.timeout_s))}
    task = {f"name/{execution.task}": 1.0}
    return {**words, **timeout, **task, **execution.features}, tree is not None
