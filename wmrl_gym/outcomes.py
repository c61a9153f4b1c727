"""The seam between an environment and what executes its actions.

An environment never runs anything itself. It describes what its action asks for as an
`Execution` and hands a batch of them to its `Executor`, which gives back a batch of
`Outcome`s. A sandbox pool is an executor, and so is a world model: replacing the one by
the other is all that the reward swap needs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable


class Status(IntEnum):
    """How an execution ended. Values are stable: they appear in `info`, stores and files."""

    UNSCORED = -1
    """We failed, not the agent (sandbox did not start, grader or world model broke): no score."""
    MALFORMED = 0
    """There was nothing to run: no code, or code that does not compile."""
    CRASHED = 1
    """It ran and ended with an error, or broke a limit other than time and memory."""
    TIMED_OUT = 2
    """It was stopped at its time limit."""
    OUT_OF_MEMORY = 3
    """It was stopped at its memory limit."""
    NO_RESULT = 4
    """It ended well but left no result."""
    INVALID_RESULT = 5
    """It left a result that does not follow the rules of the task."""
    COMPLETED = 6
    """It left a valid result, which was graded."""


class Source(IntEnum):
    """Where an outcome comes from. Values are stable: they appear in `info`."""

    NONE = 0
    """Nothing was executed or predicted."""
    REAL = 1
    """A real execution."""
    PREDICTED = 2
    """A world model."""


@dataclass(frozen=True)
class Execution:
    """What has to be run to score one action.

    `task` and `artifact` say what to run; `features` and `context` are what a world model
    may look at besides. Nothing in here is hidden from the agent.
    """

    task: str
    """Name of the task."""
    artifact: str
    """What the agent made, for instance the text of a script."""
    task_version: str = ""
    """Changes whenever the same artifact could score differently (data, split, metric)."""
    timeout_s: float = 60.0
    """Wall-clock limit of the execution, in seconds."""
    features: Mapping[str, float] = field(default_factory=dict)
    """Numbers that describe the task and the action, by name, for surrogates."""
    context: str = ""
    """Text that describes the task and the episode so far, for language models."""
    slot: int = 0
    """Which sub-environment of a vector environment asks; 0 in a single environment."""

    @property
    def key(self) -> str:
        """SHA-256 of everything that decides the real outcome: equal keys need one execution."""
        identity = [self.task, self.task_version, self.artifact, float(self.timeout_s)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What an execution gave, or what a world model says that it would give."""

    status: Status
    score: float | None
    """Score within the environment's bounds; `None` where there is none, which is not 0."""
    feedback: str = ""
    """What the agent is shown."""
    seconds: float = 0.0
    """Wall-clock duration of the (predicted) execution, in seconds."""
    source: Source = Source.REAL
    predicted: float | None = None
    """Raw score that the world model gave, if it was asked; in a real outcome it makes the pair."""
    details: Mapping[str, float] = field(default_factory=dict)
    """Further numbers by name, for instance `metric` (the task's own) or `p_completed`."""

    @classmethod
    def unscored(cls, reason: str, source: Source = Source.REAL) -> Outcome:
        """The outcome of an execution that *we* failed to carry out."""
        return cls(status=Status.UNSCORED, score=None, feedback=reason, source=source)


@runtime_checkable
class Executor(Protocol):
    """Turns a batch of executions into a batch of outcomes."""

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Run `executions`, concurrently where that helps.

        Args:
            executions: `[B]` what to run; may be empty.

        Returns:
            `[B]` outcomes in the order of `executions`. What the agent did wrong is an
            outcome with a score; what the executor failed at is `Outcome.unscored(...)`.
            An executor raises only for what a user must mend (no usable sandbox, say).
        """
        ...

    def close(self) -> None:
        """Release what the executor holds; safe to call twice."""
        ...


class WorldModel(Executor, Protocol):
    """An executor that predicts. Subclass it and write `execute`; the rest has defaults.

    `execute` returns outcomes with `source=Source.PREDICTED`. A prediction that failed (the
    model did not answer, or its answer did not parse) is `Outcome.unscored(...)`, never 0.
    """

    def ready(self, task: str) -> bool:
        """Whether there is any basis for predicting `task`; if not, its groups run for real."""
        return True

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Learn from `[N]` real outcomes. Called between batches only; the default ignores them."""
        return None

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        """Compare the members of groups side by side, for a model that can.

        Preferences order the calibrated scores of a group anew; their sizes do not matter, and
        raw predictions, which the correction learns from, stay as they are.

        Args:
            groups: Executions of each group that were predicted together, two or more.

        Returns:
            For each group a preference for each member, more for better and NaN for one that
            keeps its score, or `None` to leave the group alone, as the default does.
        """
        return [None for _ in groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, as plain picklable data."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        return None

    def close(self) -> None:
        """Release what the model holds; safe to call twice."""
        return None
