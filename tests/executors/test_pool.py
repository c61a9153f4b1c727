from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.executors.contract import ExecutorContract, executions
from tests.executors.ray_toys import MakeJob
from wmrl_gym import Execution, Outcome, PooledExecutor, Status


class TestContract(ExecutorContract):
    def executor(self, directory: Path, **options: Any) -> PooledExecutor:
        return PooledExecutor(MakeJob(directory)(), workers=2, **options)


def scored(execution: Execution) -> Outcome:
    return Outcome(Status.COMPLETED, len(execution.artifact) / 10, seconds=0.5)


def test_outcomes_come_in_the_order_of_the_executions() -> None:
    pool = PooledExecutor(scored, workers=3)
    outcomes = pool.execute(executions("a", "abc", "ab"))
    assert [outcome.score for outcome in outcomes] == [0.1, 0.3, 0.2]
    assert pool.execute([]) == []
    pool.close()


def test_a_batch_runs_side_by_side_and_no_more_than_workers_at_once() -> None:
    together = threading.Barrier(2, timeout=20)
    running, most, lock = 0, 0, threading.Lock()

    def run(execution: Execution) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # breaks if the two never meet
        with lock:
            running -= 1
        return scored(execution)

    outcomes = PooledExecutor(run, workers=2).execute(executions("a", "b", "c", "d"))
    assert all(outcome.score is not None for outcome in outcomes)
    assert most == 2


def test_what_is_waited_for_can_be_shown() -> None:
    seen: list[list[str]] = []

    def run(execution: Execution) -> Outcome:
        seen.append([one.artifact for one in pool.waiting])
        if execution.artifact == "b":
            raise KeyboardInterrupt
        return scored(execution)

    pool = PooledExecutor(run, workers=1)
    assert pool.waiting == []
    with pytest.raises(KeyboardInterrupt):
        pool.execute(executions("a", "b", "c"))
    # Whether the third one still starts is the pool's affair.
    assert seen[:2] == [["a", "b", "c"], ["b", "c"]]
    assert pool.waiting == []


def test_equal_executions_run_once_and_a_store_remembers(tmp_path: Path) -> None:
    ran: list[str] = []

    def run(execution: Execution) -> Outcome:
        ran.append(execution.artifact)
        return scored(execution)

    first = PooledExecutor(run, workers=1, store=tmp_path / "s.sqlite")
    assert len(first.execute(executions("a", "a", "b"))) == 3
    assert sorted(ran) == ["a", "b"]
    assert (first.counts.executed, first.counts.replayed, first.counts.seconds) == (2, 1, 1.0)
    first.close()
    second = PooledExecutor(run, workers=1, store=tmp_path / "s.sqlite")
    assert second.execute(executions("b", "c"))[0].score == 0.1
    assert sorted(ran) == ["a", "b", "c"]
    assert (second.counts.executed, second.counts.replayed) == (1, 1)
    second.close()


def test_our_failure_has_no_score_is_counted_and_not_stored(tmp_path: Path) -> None:
    def run(execution: Execution) -> Outcome:
        raise OSError("disk full")

    pool = PooledExecutor(run, workers=2, store=tmp_path / "s.sqlite")
    outcomes = pool.execute(executions("a", "b"))
    assert [outcome.status for outcome in outcomes] == [Status.UNSCORED] * 2
    assert outcomes[0].score is None
    assert "disk full" in outcomes[0].feedback
    assert pool.counts.failed == 2
    assert pool.store is not None
    assert len(pool.store) == 0
    pool.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, LookupError])
def test_interrupts_and_fatal_errors_end_the_call_and_lose_nothing_done(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def run(execution: Execution) -> Outcome:
        if execution.artifact == "b":
            raise error("stop")
        return scored(execution)

    pool = PooledExecutor(run, workers=1, store=tmp_path / "s.sqlite", fatal=(LookupError,))
    with pytest.raises(error):
        pool.execute(executions("a", "b", "c"))
    assert pool.store is not None
    assert pool.store.get(executions("a")[0]) is not None
    pool.close()


def test_workers_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="workers=0"):
        PooledExecutor(scored, workers=0)
