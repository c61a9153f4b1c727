"""The world model that every other one has to beat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel


class ConstantWorldModel(WorldModel):
    """Says the same of every artifact: the mean outcome of its task so far.

    Of a task without outcomes it says the mean of all. Within a group, which has one task, it
    knows nothing: whatever another model gains over it there is judgement.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float, float, float]]] = {}

    def ready(self, task: str) -> bool:
        """Whether anything has been learned."""
        return bool(self._seen)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` outcomes; without a score as long as nothing has been learned."""
        return [self._outcome(execution.task) for execution in executions]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Add `[N]` real outcomes; those without a score say nothing."""
        seen = defaultdict(list, {task: list(known) for task, known in self._seen.items()})
        for execution, outcome in zip(executions, outcomes, strict=True):
            if outcome.score is not None:
                completed = float(outcome.status is Status.COMPLETED)
                seen[execution.task].append((outcome.score, completed, outcome.seconds))
        self._seen = dict(seen)

    def state_dict(self) -> dict[str, Any]:
        """What was learned, by task."""
        return {"seen": {task: list(known) for task, known in self._seen.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._seen = {task: [tuple(row) for row in known] for task, known in state["seen"].items()}

    def _outcome(self, task: str) -> Outcome:
        if not self._seen:
            return Outcome.unscored("nothing has been learned", Source.PREDICTED)
        known = self._seen.get(task) or [row for rows in self._seen.values() for row in rows]
        score, completed, seconds = np.mean(known, axis=0).tolist()
        return Outcome(
            Status.COMPLETED if completed >= 0.5 else Status.CRASHED,
            score,
            feedback=f"(predicted) score about {score:.2f}, as ever",
            seconds=seconds,
            source=Source.PREDICTED,
            predicted=score,
            details={"p_completed": completed},
        )
