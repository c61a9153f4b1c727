"""What every executor of real executions keeps to, wherever it runs them."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from pathlib import Path
from typing import Any

import pytest

from tests.executors.ray_toys import Trace
from wmrl_gym import Execution, Executor, Status
from wmrl_gym.executors import StoringExecutor


def executions(*artifacts: str) -> list[Execution]:
    return [Execution("task", artifact) for artifact in artifacts]


class ExecutorContract:
    """Subclass it, and say how to make the executor that runs `Job`s."""

    @abstractmethod
    def executor(self, directory: Path, **options: Any) -> StoringExecutor: ...

    @pytest.fixture
    def trace(self, tmp_path: Path) -> Trace:
        (tmp_path / "trace").mkdir()
        return Trace(tmp_path / "trace")

    def test_it_is_an_executor(self, trace: Trace) -> None:
        executor = self.executor(trace.directory)
        assert isinstance(executor, Executor)
        assert executor.workers >= 1
        executor.close()
        executor.close()

    def test_outcomes_come_in_the_order_of_the_executions(self, trace: Trace) -> None:
        executor = self.executor(trace.directory)
        outcomes = executor.execute(executions("busy", "ok 333", "ok 22", "ok 1"))
        assert [outcome.score for outcome in outcomes] == [0.04, 0.06, 0.05, 0.04]
        assert executor.execute([]) == []
        assert executor.counts.executed == 4
        assert executor.counts.seconds == 2.0
        executor.close()

    def test_equal_executions_run_once_and_a_store_remembers(
        self, trace: Trace, tmp_path: Path
    ) -> None:
        first = self.executor(trace.directory, store=tmp_path / "s.sqlite")
        assert len(first.execute(executions("ok 1", "ok 1", "ok 2"))) == 3
        assert trace.artifacts("begun") == ["ok 1", "ok 2"]
        assert (first.counts.executed, first.counts.replayed) == (2, 1)
        first.close()
        second = self.executor(trace.directory, store=tmp_path / "s.sqlite")
        assert [o.score for o in second.execute(executions("ok 2", "ok 33"))] == [0.04, 0.05]
        assert trace.artifacts("begun") == ["ok 1", "ok 2", "ok 33"]
        assert (second.counts.executed, second.counts.replayed) == (1, 1)
        second.close()

    def test_our_failure_has_no_score_is_counted_and_not_stored(
        self, trace: Trace, tmp_path: Path
    ) -> None:
        executor = self.executor(trace.directory, store=tmp_path / "s.sqlite")
        outcomes = executor.execute(executions("fail 1", "ok", "fail 2"))
        assert [o.status for o in outcomes] == [Status.UNSCORED, Status.COMPLETED, Status.UNSCORED]
        assert "OSError: disk full" in outcomes[0].feedback
        assert (executor.counts.executed, executor.counts.failed) == (3, 2)
        assert executor.store is not None
        assert len(executor.store) == 1
        executor.close()

    def test_a_fatal_error_ends_the_call_and_loses_nothing_done(
        self, trace: Trace, tmp_path: Path
    ) -> None:
        store = tmp_path / "s.sqlite"
        executor = self.executor(trace.directory, store=store, fatal=(LookupError,))
        batch = executions("ok", "mend ok", *(f"busy {i}" for i in range(40)))
        with pytest.raises(LookupError, match="mend this") as raised:
            executor.execute(batch)
        assert type(raised.value) is LookupError
        assert executor.store is not None
        stored = sorted(execution.artifact for execution, _ in executor.store)
        assert stored == trace.artifacts("ended")
        assert "ok" in stored
        assert executor.counts.executed == len(stored)
        # What had begun was let end; what had not never did.
        assert set(trace.artifacts("begun")) == {*stored, "mend ok"}
        assert len(stored) < 30
        executor.close()

    def test_it_travels_before_and_after_use(self, trace: Trace, tmp_path: Path) -> None:
        executor = self.executor(trace.directory, store=tmp_path / "s.sqlite")
        for count in (1, 2):
            twin = pickle.loads(pickle.dumps(executor))
            assert twin.execute(executions("ok"))[0].score == 0.02
            twin.close()
            executor.execute(executions("ok", f"ok {count}"))
        assert trace.artifacts("begun") == ["ok", "ok 1", "ok 2"]
        executor.close()
