"""Real executions of one batch, side by side in a bounded pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.outcomes import Execution, Outcome


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


class PooledExecutor:
    """Runs each execution by a function of yours, `workers` at a time.

    Equal executions (see `Execution.key`) are carried out once per batch, and once for ever
    with a store. Each outcome is stored as soon as it is there: killing the process loses
    what was running, nothing else.

    Args:
        run: Carries out one execution; called from several threads. An exception in it is
            our failure, not the agent's: it becomes an outcome without a score.
        workers: How many run at once; `None` for one per usable core.
        store: Store of real outcomes, a path to one, or `None` to remember nothing.
        fatal: Exceptions that end the call instead, since only a user can mend them.

    Raises:
        ValueError: If `workers` is below 1.
    """

    def __init__(
        self,
        run: Callable[[Execution], Outcome],
        *,
        workers: int | None = None,
        store: OutcomeStore | str | Path | None = None,
        fatal: tuple[type[Exception], ...] = (),
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers} must be at least 1, or None for one per core")
        self._run = run
        self.workers = workers or len(os.sched_getaffinity(0))
        self._given_store = store
        self._store: OutcomeStore | None = None
        self._fatal = fatal
        self.counts = ExecutionCounts()

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
        for execution, outcome in zip(missing, self._run_all(missing), strict=True):
            outcomes[execution.key] = outcome
        self._count(len(executions) - len(missing), [outcomes[e.key] for e in missing])
        return [outcomes[execution.key] for execution in executions]

    def close(self) -> None:
        """Close the store; safe to call twice."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _recall(self, execution: Execution) -> Outcome | None:
        return None if self.store is None else self.store.get(execution)

    def _run_all(self, executions: Sequence[Execution]) -> list[Outcome]:
        if len(executions) <= 1:
            return [self._run_one(execution) for execution in executions]
        with ThreadPoolExecutor(min(self.workers, len(executions))) as pool:
            futures = [pool.submit(self._run_one, execution) for execution in executions]
            try:
                return [future.result() for future in futures]
            except BaseException:
                _cancel(futures)
                raise

    def _run_one(self, execution: Execution) -> Outcome:
        try:
            outcome = self._run(execution)
        except self._fatal:
            raise
        except Exception as error:
            return Outcome.unscored(f"{type(error).__name__}: {error}")
        if self.store is not None and outcome.score is not None:
            self.store.put(execution, outcome)
        return outcome

    def _count(self, replayed: int, done: Sequence[Outcome]) -> None:
        old = self.counts
        self.counts = ExecutionCounts(
            executed=old.executed + len(done),
            replayed=old.replayed + replayed,
            failed=old.failed + sum(outcome.score is None for outcome in done),
            seconds=old.seconds + sum(outcome.seconds for outcome in done),
        )


def _cancel(futures: Sequence[Future[Outcome]]) -> None:
    """Start nothing more of a batch that an interrupt or a fatal error has ended."""
    for future in futures:
        future.cancel()
