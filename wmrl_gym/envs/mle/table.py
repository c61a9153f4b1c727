"""What a task on one table is: its columns, its metric, and what references reach on it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.rules import TableRules
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.errors import TaskError

Kind = Literal["binary", "multiclass", "regression", "multilabel", "survival"]

LAYOUT = "2"
"""Raise it with any change to reading, splitting or metrics that changes what scores mean."""

_CLASSES = {"binary": (2, 2), "multiclass": (3, 10**6)}
"""Least and largest number of classes, by kind; the other kinds have none."""
_METRICS_OF: Mapping[Kind, frozenset[str]] = {
    "binary": frozenset({"accuracy", "average_precision", "log_loss", "macro_f1", "roc_auc"}),
    "multiclass": frozenset({"accuracy", "bits", "log_loss", "macro_f1", "qwk"}),
    "regression": frozenset({"mae", "rmse", "rmsle"}),
    "multilabel": frozenset({"mean_roc_auc"}),
    "survival": frozenset({"concordance"}),
}
"""Metrics that fit a kind."""


def kinds_of(metric: str) -> tuple[Kind, ...]:
    """The kinds that a metric fits."""
    return tuple(kind for kind, metrics in _METRICS_OF.items() if metric in metrics)


@dataclass(frozen=True, eq=False)
class Table:
    """A supervised-learning problem on one table.

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
    targets: tuple[str, ...]
    """`[T]` columns to predict: one, several values or labels, or time and event of a survival."""
    target_about: str
    """What they are."""
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
    split_column: str | None = None
    """Column that holds `"train"` or `"test"` where the data come with a split; no feature.
    `"Public"` and `"Private"` in the place of `"test"` say which answers are shown."""
    tags: tuple[str, ...] = ()
    references: Mapping[str, float] = field(default_factory=dict)
    """Metric on the private answers that plain solutions reach, by name, as measured."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of processor time, on one thread, that they take to read, fit and predict, by name.

    As measured, without the start of an interpreter and its imports. Processor time is what can
    be told on a machine that is busy with other things.
    """
    timeout_s: float = 60.0
    """Wall-clock limit that is ample for a solution, in seconds."""
    id_column: str = "id"
    rows: int | None = None
    """Rows to keep of the data, drawn at random; `None` for all."""

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise TaskError(f"metric={self.metric!r} is not one of {sorted(METRICS)}")
        if self.metric not in _METRICS_OF[self.kind]:
            raise TaskError(
                f"metric={self.metric!r} does not go with kind={self.kind!r}; "
                f"choose from {sorted(_METRICS_OF[self.kind])}"
            )
        least, most = _CLASSES.get(self.kind, (0, 0))
        if not least <= len(self.classes) <= most:
            raise TaskError(
                f"kind={self.kind!r} does not go with {len(self.classes)} classes={self.classes}"
            )
        if self.classes and len(self.targets) != 1:
            raise TaskError(f"targets={self.targets} of a classification have to be one column")
        if self.kind == "survival" and len(self.targets) != 2:
            raise TaskError(f"targets={self.targets} of a survival have to be time and event")

    @property
    def target(self) -> str:
        """The column to predict of a task that has one.

        Raises:
            TaskError: If it has several.
        """
        if len(self.targets) != 1:
            raise TaskError(f"task {self.name!r} has {len(self.targets)} targets, not one")
        return self.targets[0]

    @property
    def submission_columns(self) -> tuple[str, ...]:
        """Columns of a submission: the id, then the targets, or one column for each class."""
        if self.kind == "survival":
            return (self.id_column, "risk")
        by_class = METRICS[self.metric].prediction == "probabilities"
        return (self.id_column, *(self.classes if by_class else self.targets))

    @property
    def rules(self) -> TableRules:
        """What a submission has to look like."""
        return TableRules(
            metric=self.metric,
            id_column=self.id_column,
            targets=self.targets,
            columns=self.submission_columns,
            classes=self.classes,
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
