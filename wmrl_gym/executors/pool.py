"""Real executions of one batch, side by side in a bounded pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.executors.storing import Arrived, StoringExecutor
from wmrl_gym.outcomes import Execution, Outcome


class PooledExecutor(StoringExecutor):
    """Runs each execution by a function of yours, `workers` at a time.

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
        super().__init__(store=store)
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers} must be at least 1, or None for one per core")
        self._run = run
        self._workers = workers or usable_cores()
        self._fatal = fatal

    @property
    def workers(self) -> int:
        """How many executions run at once."""
        return self._workers

    def _carry_out(self, executions: Sequence[Execution], arrived: Arrived) -> None:
        if len(executions) <= 1:
            for execution in executions:
                self._carry_out_one(execution, arrived)
            return
        with ThreadPoolExecutor(min(self.workers, len(executions))) as pool:
            futures = [pool.submit(self._carry_out_one, e, arrived) for e in executions]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                _cancel(futures)
                raise

    def _carry_out_one(self, execution: Execution, arrived: Arrived) -> None:
        try:
            outcome = self._run(execution)
        except self._fatal:
            raise
        except Exception as error:
            outcome = Outcome.unscored(f"{type(error).__name__}: {error}")
        arrived(execution, outcome)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _cancel(futures: Sequence[Future[None]]) -> None:
    """Start nothing more of a batch that an interrupt or a fatal error has ended."""
    for future in futures:
        future.cancel()
