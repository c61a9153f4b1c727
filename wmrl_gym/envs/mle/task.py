"""What a task is to the environment, wherever its data and its grader come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wmrl_gym.sandboxes import Limits

SUBMISSION = "submission.csv"
"""File that a script leaves unless its task names another."""
_LIMITS = Limits(wall_s=120.0, memory_mb=4096)


@dataclass(frozen=True)
class Grader:
    """What grades the submissions of a task: code and answers, run in a sandbox of their own.

    The files are placed beside the grader and nowhere else: no agent's sandbox has them.
    """

    kind: str
    """Which grader of `wmrl_gym.envs.mle.grading.guest` reads them, a key of its `GRADERS`."""
    rules: Mapping[str, Any]
    """What that grader has to know, as JSON."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Answers and code, by the plain file name that the grader finds them under."""
    data: Mapping[str, Path] = field(default_factory=dict)
    """Directories that the grader reads at `../<name>`."""
    limits: Limits = _LIMITS
    """What grading may use; imported graders are code that nobody trusts either."""


class Task(Protocol):
    """A problem with public data, hidden answers and a metric.

    Implementations compare by identity. They read little when they are made; data are
    prepared, and hashed, when a property asks for them.
    """

    @property
    def name(self) -> str:
        """What `load_task` gives this task for, in any process."""
        ...

    @property
    def title(self) -> str:
        """A heading."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same submission could score differently."""
        ...

    @property
    def description(self) -> str:
        """Everything that someone who solves the task is told, in Markdown."""
        ...

    @property
    def public(self) -> Path:
        """Directory that solutions read."""
        ...

    @property
    def submission(self) -> str:
        """Plain name of the file that a solution leaves in its working directory."""
        ...

    @property
    def grader(self) -> Grader:
        """What grades submissions."""
        ...

    @property
    def metric(self) -> str:
        """Name of the metric."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric."""
        ...

    @property
    def optimum(self) -> float | None:
        """Value of a perfect submission, if it is known."""
        ...

    @property
    def references(self) -> Mapping[str, float]:
        """Metric that solutions of reference reach on the private answers, by name."""
        ...

    @property
    def leaderboard(self) -> Sequence[float]:
        """Scores of a leaderboard, best first; empty if there is none."""
        ...

    @property
    def licence(self) -> str:
        """Licence of the data."""
        ...

    @property
    def origin(self) -> str:
        """Where the data come from."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """What kind of data it has."""
        ...

    def features(self) -> dict[str, float]:
        """Numbers that describe the task, from its public files: the same keys for all tasks."""
        ...
