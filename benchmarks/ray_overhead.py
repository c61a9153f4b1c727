"""What an execution costs more as a task of Ray than in a pool, on this machine.

python benchmarks/ray_overhead.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from wmrl_gym import Execution, Outcome, PooledExecutor, Status
from wmrl_gym.executors import RayExecutor, StoringExecutor

ROUNDS = 5
OUTCOME = Outcome(Status.COMPLETED, 0.5)


def nothing(execution: Execution) -> Outcome:
    return OUTCOME


def wait_30_ms(execution: Execution) -> Outcome:
    time.sleep(0.03)
    return OUTCOME


def itself(run: Callable[[Execution], Outcome]) -> Callable[[Execution], Outcome]:
    return run


def milliseconds_per_execution(executor: StoringExecutor, batch: int) -> float:
    times = []
    for _ in range(ROUNDS):
        executions = [Execution("task", str(i)) for i in range(batch)]
        started = time.perf_counter()
        executor.execute(executions)
        times.append((time.perf_counter() - started) / batch * 1e3)
    return float(np.median(times))


def main() -> None:
    print(f"{'':<12}{'batch':>6}{'pool ms':>10}{'Ray ms':>10}{'more ms':>10}   per execution")
    for run in (nothing, wait_30_ms):
        ray = RayExecutor(partial(itself, run), address="local", memory_mb=64)
        milliseconds_per_execution(ray, 8)  # the workers start
        pool = PooledExecutor(run, workers=ray.workers)
        for batch in (1, 8, 64, 256):
            a, b = (milliseconds_per_execution(executor, batch) for executor in (pool, ray))
            print(f"{run.__name__:<12}{batch:>6}{a:>10.2f}{b:>10.2f}{b - a:>10.2f}")
        ray.close()


if __name__ == "__main__":
    main()
