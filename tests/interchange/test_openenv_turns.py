"""The limit on executions over all sessions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from wmrl_gym import Execution, Outcome, Status
from wmrl_gym.interchange.openenv_turns import TakingTurns, Turns


class Rendezvous:
    """Runs until it is let go, and counts how many run at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = self.most = 0
        self.started = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.started.release()
        assert self.go_on.acquire(timeout=60)
        with self.lock:
            self.running -= 1
        return [Outcome(Status.COMPLETED, 1.0) for _ in executions]

    def close(self) -> None:
        self.closed = True


def test_no_more_than_the_limit_at_once_and_none_after_the_end() -> None:
    real, turns = Rendezvous(), Turns(2)
    job = [Execution("task", "artifact")]
    with ThreadPoolExecutor(5) as pool:
        futures = [pool.submit(TakingTurns(real, turns).execute, job) for _ in range(5)]
        for _ in range(2):
            assert real.started.acquire(timeout=60)
        assert turns.taken == 2
        # A third starts when one of the two has ended, not before.
        assert not real.started.acquire(blocking=False)
        real.go_on.release()
        assert real.started.acquire(timeout=60)
        assert not turns.wait_until_free(0.01)
        turns.end()
        real.go_on.release(2)
        assert turns.wait_until_free(60)
        outcomes = [future.result(60)[0] for future in futures]
    assert real.most == 2
    scores = [outcome.score for outcome in outcomes]
    assert scores.count(1.0) == 3
    assert scores.count(None) == 2
    assert {o.status for o in outcomes if o.score is None} == {Status.UNSCORED}
    TakingTurns(real, turns).close()
    assert real.closed


def test_a_turn_is_given_back_after_an_error() -> None:
    class Broken(Rendezvous):
        def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
            raise RuntimeError("broken")

    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            TakingTurns(Broken(), turns).execute([])
    assert turns.taken == 0


def test_no_turns_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="workers=0 must be at least 1"):
        Turns(0)
