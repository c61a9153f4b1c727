"""A task: data with hidden answers, a metric, and what references reach on it.

A task is described by a `Task`; its files are prepared on first use, in the layout that
MLE-bench introduced, and cached (see `wmrl_gym.envs.mle.prepare`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Literal

from wmrl_gym.envs.mle.describe import describe
from wmrl_gym.envs.mle.features import meta_features
from wmrl_gym.envs.mle.metrics import METRICS
from wmrl_gym.envs.mle.prepare import LAYOUT, prepare
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.errors import TaskError

Kind = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True, eq=False)
class Task:
    """A supervised-learning task on one table.

    Tasks compare by identity; `load_task` gives the same object for the same name.

    Raises:
        TaskError: If the fields contradict each other.
    """

    name: str
    title: str
    about: str
    """What the data are, in Markdown."""
    kind: Kind
    metric: str
    """Name of the metric, a key of `METRICS`."""
    target: str
    """Column to predict."""
    target_about: str
    """What that column is."""
    licence: str
    """Licence of the data."""
    origin: str
    """Who made the data and where they were published."""
    source: Source
    """Files that the data are read from, and how."""
    classes: tuple[str, ...] = ()
    """`[K]` labels as they are written in the files; the last of two is the positive class."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Meaning of the feature columns, by name; empty where `about` explains them."""
    time_column: str | None = None
    """Column to split by, the latest part hidden; `None` for a random split."""
    tags: tuple[str, ...] = ()
    references: Mapping[str, float] = field(default_factory=dict)
    """Metric on the hidden answers that plain solutions reach, by name, as measured."""
    timeout_s: float = 60.0
    """Wall-clock limit that is ample for a solution, in seconds."""
    id_column: str = "id"

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise TaskError(f"metric={self.metric!r} is not one of {sorted(METRICS)}")
        expected = {"regression": (0, 0), "binary": (2, 2), "multiclass": (3, 10**6)}[self.kind]
        if not expected[0] <= len(self.classes) <= expected[1]:
            raise TaskError(
                f"kind={self.kind!r} does not go with {len(self.classes)} classes={self.classes}"
            )

    @cached_property
    def version(self) -> str:
        """Changes whenever the same submission could score differently.

        It hashes the data files, every field and the layout's version, so that nobody has to
        remember to raise a number.
        """
        described = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)]
        digest = hashlib.sha256("\n".join([f"layout={LAYOUT}", *described]).encode())
        for path in self.source.paths:
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]

    @property
    def submission_columns(self) -> tuple[str, ...]:
        """Columns of a submission: the id, then the target, or one column for each class."""
        by_class = METRICS[self.metric].prediction == "probabilities"
        predicted = self.classes if by_class else (self.target,)
        return (self.id_column, *predicted)

    @property
    def description(self) -> str:
        """Everything that someone who solves the task is told, in Markdown."""
        return describe(self)

    @property
    def public(self) -> Path:
        """Directory with train.csv, test.csv, sample_submission.csv and description.md."""
        return prepare(self) / "public"

    @property
    def private(self) -> Path:
        """Directory with the answers, test.csv, that no solution may see."""
        return prepare(self) / "private"

    @cached_property
    def _features(self) -> Mapping[str, float]:
        return meta_features(self)

    def features(self) -> dict[str, float]:
        """Numbers that describe the task, from its public files only.

        Returns:
            The same keys for every task, all finite, most in [0, 1], all in [-5, 5].
        """
        return dict(self._features)
