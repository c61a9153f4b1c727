"""How long an execution will probably take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from wmrl_gym.outcomes import Execution, Outcome, Status

_REMEMBERED = 200
_UNKNOWN_S = 1.0
"""Before anything is known, in seconds."""
_ANY = ""


class Durations:
    """Medians of the durations seen: of the task and the ending, else of what is closest."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[int, list[float]]] = {}

    def learn(self, executions: Iterable[Execution], outcomes: Iterable[Outcome]) -> None:
        """Add `[N]` real outcomes; those without a score say nothing."""
        for execution, outcome in zip(executions, outcomes, strict=True):
            if outcome.score is None:
                continue
            for task in (execution.task, _ANY):
                seen = self._seen.setdefault(task, {}).setdefault(int(outcome.status), [])
                seen.append(float(outcome.seconds))
                del seen[:-_REMEMBERED]

    def predict(self, execution: Execution, status: Status) -> float:
        """Seconds, at most the limit of `execution`."""
        if status is Status.MALFORMED:
            return 0.0
        if status is Status.TIMED_OUT:
            return execution.timeout_s
        return min(self._median(execution.task, int(status)), execution.timeout_s)

    def state_dict(self) -> dict[str, Any]:
        """The durations that are remembered."""
        return {
            task: {status: list(seen) for status, seen in by_status.items()}
            for task, by_status in self._seen.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._seen = {
            task: {int(status): list(seen) for status, seen in by_status.items()}
            for task, by_status in state.items()
        }

    def _median(self, task: str, status: int) -> float:
        by_status = self._seen.get(task) or self._seen.get(_ANY) or {}
        seen = by_status.get(status) or [s for values in by_status.values() for s in values]
        return median(seen) if seen else _UNKNOWN_S
