"""A limit on the executions that run at once, over all sessions of a server."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from wmrl_gym.outcomes import Execution, Executor, Outcome


class Turns:
    """Gives out turns, `limit` at a time, until it is ended.

    Args:
        limit: At least 1.

    Raises:
        ValueError: If `limit` is below 1.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"workers={limit} must be at least 1")
        self._limit = limit
        self._changed = threading.Condition()
        self._taken = 0
        self._ended = False

    @property
    def taken(self) -> int:
        """Turns that are going on."""
        return self._taken

    def take(self) -> bool:
        """Wait for a turn; whether there is one, since there are none after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._taken < self._limit)
            if self._ended:
                return False
            self._taken += 1
            return True

    def give_back(self) -> None:
        """End a turn."""
        with self._changed:
            self._taken -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Give out no more turns; whoever waits for one gets none."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_until_free(self, seconds: float) -> bool:
        """Wait until no turn is going on; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self._taken == 0, seconds)


class TakingTurns:
    """An executor that waits for its turn.

    The wait is no part of an execution: its time limit starts when it has its turn.

    Args:
        real: Executes.
        turns: Shared by all that wait for each other.
    """

    def __init__(self, real: Executor, turns: Turns) -> None:
        self._real = real
        self._turns = turns

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Execute when it is this executor's turn; see `Executor.execute`."""
        if not self._turns.take():
            return [Outcome.unscored("the server is ending") for _ in executions]
        try:
            return self._real.execute(executions)
        finally:
            self._turns.give_back()

    def close(self) -> None:
        """Close the real executor."""
        self._real.close()
