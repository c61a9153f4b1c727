"""What all executors of real executions share: nothing is paid for twice, and all is counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.outcomes import Execution, Outcome

Arrived = Callable[[Execution, Outcome], None]
"""Takes an execution and its outcome as soon as that is there; safe to call from any thread."""


@dataclass(frozen=True)
class ExecutionCounts:
    """What an executor has done so far."""

    executed: int = 0
    """Executions carried out."""
    replayed: int = 0
    """Executions answered from the store or from an equal one of the same batch."""
    failed: int = 0
    """Executions that we could not carry out; they have no score."""
    seconds: float = 0.0
    """Sum of the durations of what was carried out, in seconds."""


class StoringExecutor(ABC):
    """Carries out what it does not know yet, and remembers it.

    Equal executions (see `Execution.key`) are carried out once per batch, and once for ever
    with a store. Each outcome is stored as soon as it is there: killing the process loses
    what was running, nothing else.

    Args:
        store: Store of real outcomes, a path to one, or `None` to remember nothing.
    """

    def __init__(self, *, store: OutcomeStore | str | Path | None = None) -> None:
        self._given_store = store
        self._store: OutcomeStore | None = None
        self.counts = ExecutionCounts()
        self._waiting: dict[str, Execution] = {}

    @property
    def waiting(self) -> list[Execution]:
        """What the call that is going on still waits for; for any thread that shows it."""
        return list(self._waiting.values())

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many executions run at once, at least 1."""

    @abstractmethod
    def _carry_out(self, executions: Sequence[Execution], arrived: Arrived) -> None:
        """Carry out `[B]` executions, no two of them equal; `B` may be 0.

        Args:
            executions: What to run.
            arrived: To be called once for each, in any order.
        """

    @property
    def store(self) -> OutcomeStore | None:
        """The store, opened on first use so that a configured executor can be pickled."""
        given = self._given_store
        if self._store is None and given is not None:
            self._store = given if isinstance(given, OutcomeStore) else OutcomeStore(given)
        return self._store

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Carry out `[B]` executions; see `Executor.execute`."""
        known = {execution.key: execution for execution in executions}
        outcomes = {key: outcome for key, e in known.items() if (outcome := self._recall(e))}
        missing = [e for key, e in known.items() if key not in outcomes]
        outcomes.update(self._carry_out_and_keep(missing))
        self._count(replayed=len(executions) - len(missing))
        return [outcomes[execution.key] for execution in executions]

    def close(self) -> None:
        """Close the store; safe to call twice."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _recall(self, execution: Execution) -> Outcome | None:
        return None if self.store is None else self.store.get(execution)

    def _carry_out_and_keep(self, executions: Sequence[Execution]) -> dict[str, Outcome]:
        done: dict[str, Outcome] = {}
        self._waiting = {execution.key: execution for execution in executions}

        def arrived(execution: Execution, outcome: Outcome) -> None:
            if self._store is not None and outcome.score is not None:
                self._store.put(execution, outcome)
            done[execution.key] = outcome
            self._waiting.pop(execution.key, None)

        try:
            self._carry_out(executions, arrived)
        finally:  # what was done before an interrupt was done all the same
            self._waiting = {}
            self._count(done=done.values())
        return done

    def _count(self, *, done: Collection[Outcome] = (), replayed: int = 0) -> None:
        old = self.counts
        self.counts = ExecutionCounts(
            executed=old.executed + len(done),
            replayed=old.replayed + replayed,
            failed=old.failed + sum(outcome.score is None for outcome in done),
            seconds=old.seconds + sum(outcome.seconds for outcome in done),
        )
