"""Real executions as tasks of Ray, on one machine or on a cluster of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray

from wmrl_gym.errors import ClusterError
from wmrl_gym.executors.ray_cluster import connect, room
from wmrl_gym.executors.ray_task import Run, worker_function
from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.executors.storing import Arrived, StoringExecutor
from wmrl_gym.outcomes import Execution, Outcome

_PATIENCE_S = 5.0
"""How long nothing may arrive before we ask whether anything still can, in seconds."""


@dataclass(frozen=True)
class _Attempt:
    """One try at an execution."""

    execution: Execution
    retries: int
    """How many more tries it has."""


class RayExecutor(StoringExecutor):
    """Runs each execution as a task of Ray, as many at a time as the cluster has room for.

    A task that is lost with its worker or node is tried again, wherever there is room. After
    an interrupt nothing more is started; what has begun ends and is stored. Workers must be
    able to import what `make_run` refers to. A process that is connected to a cluster
    already stays with that one, whatever `address` says. Ray never has more tasks of ours
    than it has room for, so an autoscaler sees no reason to add nodes.

    Args:
        make_run: Makes what carries out one execution; picklable, and called once in each
            worker process. An exception of what it makes is our failure, not the agent's:
            it becomes an outcome without a score.
        address: "host:port" of a cluster; "auto" for the one of this machine; "local" to
            start Ray here; `None` to start it here unless it runs. Connected to at the
            first execution.
        cpus: CPUs that one execution takes, as Ray counts them.
        memory_mb: Memory that it takes, in MiB. Ray reserves it and does not enforce it.
        gpus: GPUs that it takes; a part of one, or a whole number.
        store: Store of real outcomes, a path to one, or `None` to remember nothing.
        fatal: Exceptions that end the call, since only a user can mend them.
        retries: How often an execution is tried again before it is given up.

    Raises:
        ValueError: If a number is out of its range.
    """

    def __init__(
        self,
        make_run: Callable[[], Run],
        *,
        address: str | None = None,
        cpus: float = 1.0,
        memory_mb: int = 2048,
        gpus: float = 0.0,
        store: OutcomeStore | str | Path | None = None,
        fatal: tuple[type[Exception], ...] = (),
        retries: int = 3,
    ) -> None:
        super().__init__(store=store)
        if address is not None and "://" in address:
            raise ValueError(f"address={address!r} must be host:port, 'auto', 'local' or None")
        if cpus <= 0:
            raise ValueError(f"cpus={cpus} must be positive")
        for name, value in (("memory_mb", memory_mb), ("gpus", gpus), ("retries", retries)):
            if value < 0:
                raise ValueError(f"{name}={value} is negative")
        if gpus > 1 and gpus != int(gpus):
            raise ValueError(f"gpus={gpus} must be at most 1, or a whole number")
        self.address = address
        self.make_run = make_run
        self.demand = {"CPU": float(cpus), "memory": float(memory_mb << 20), "GPU": float(gpus)}
        """What one execution takes, by Ray's names; memory in bytes."""
        self._fatal = fatal
        self._retries = retries
        self._connected_here = False
        self._task: Any = None

    @property
    def workers(self) -> int:
        """How many executions the cluster has room for; connects to it.

        Raises:
            ClusterError: If it cannot be reached, or has no room for even one.
        """
        self._connected_here |= connect(self.address)
        return self._room()

    def close(self) -> None:
        """Close the store, and leave the cluster if it was this executor that joined it.

        A Ray that was started here is stopped with that. Safe to call twice.
        """
        super().close()
        if self._connected_here:
            ray.shutdown()
            self._connected_here = False

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the connection."""
        return {**self.__dict__, "_connected_here": False, "_task": None}

    def _room(self) -> int:
        workers = room(self.demand)
        if not workers:
            raise ClusterError(
                f"no node of the Ray cluster that is up has room for one execution, which takes "
                f"{self.demand} (memory in bytes): lower cpus, memory_mb or gpus, or add a node"
            )
        return workers

    def _carry_out(self, executions: Sequence[Execution], arrived: Arrived) -> None:
        if not executions:
            return
        self._connected_here |= connect(self.address)
        places = self._room()
        todo = deque(_Attempt(execution, self._retries) for execution in executions)
        running: dict[Any, _Attempt] = {}
        try:
            while todo or running:
                # No more than that: `ray.cancel`, which would take back what has not begun, can
                # end this process (a failed check in Ray's core; ray-project/ray#54798).
                while todo and len(running) < places:
                    running[self._start(todo[0].execution)] = todo[0]
                    todo.popleft()
                if not self._collect(running, todo, arrived):
                    places = self._room()
        except BaseException:
            self._finish(running, arrived)
            raise

    def _start(self, execution: Execution) -> Any:
        if self._task is None:
            self._task = ray.remote(
                num_cpus=self.demand["CPU"],
                num_gpus=self.demand["GPU"],
                memory=self.demand["memory"],
                # Ray's own retries have no end where a node runs out of memory.
                max_retries=0,
                # Or every GPU task would have a worker process, and a sandbox, of its own.
                max_calls=0,
            )(worker_function(self.make_run, self._fatal))
        return self._task.remote(execution)

    def _collect(
        self, running: dict[Any, _Attempt], todo: deque[_Attempt], arrived: Arrived
    ) -> bool:
        """Take what is ready out of `running`; whether the room must be as it was."""
        ready = _ready(running)
        lost = False
        for reference in ready:
            try:
                arrived(running[reference].execution, self._get(reference))
            except ray.exceptions.RayError as loss:
                lost = True
                self._try_again(running[reference], loss, todo, arrived)
            # Not before: what an interrupt leaves in there is looked at once more.
            del running[reference]
        return bool(ready) and not lost

    def _get(self, reference: Any) -> Outcome:
        try:
            outcome: Outcome = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, self._fatal):
                raise error.cause from error
            raise ClusterError(
                "a worker of Ray could not begin an execution: "
                f"{type(error.cause).__name__}: {error.cause}"
            ) from error
        return outcome

    def _try_again(
        self, attempt: _Attempt, loss: Exception, todo: deque[_Attempt], arrived: Arrived
    ) -> None:
        if attempt.retries:
            todo.append(replace(attempt, retries=attempt.retries - 1))
        else:
            reason = f"lost {self._retries + 1} times, at last to {type(loss).__name__}: {loss}"
            arrived(attempt.execution, Outcome.unscored(reason))

    def _finish(self, running: dict[Any, _Attempt], arrived: Arrived) -> None:
        """Let what has begun end, and keep it; nothing is tried again."""
        while running:
            ready = _ready(running)
            if not ready and not room(self.demand):
                return
            for reference in ready:
                with suppress(ray.exceptions.RayError):
                    arrived(running[reference].execution, ray.get(reference))
                del running[reference]


def _ready(running: dict[Any, _Attempt]) -> list[Any]:
    """Wait for one, then take all that are there."""
    first, rest = ray.wait(list(running), timeout=_PATIENCE_S)
    if not first or not rest:
        return list(first)
    more, _ = ray.wait(rest, num_returns=len(rest), timeout=0)
    return [*first, *more]
