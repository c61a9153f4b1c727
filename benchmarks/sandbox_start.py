"""How long an isolated job takes to start, and whether a pool of two uses two cores.

    python benchmarks/sandbox_start.py --repeats 30

Wall-clock times as the caller sees them: sending the job, building and removing the sandbox,
and collecting the result are included; starting the back end (once for a process) is not.
"Over the script" is what an execution of `pass` costs beyond the script's own time. For the
back end "docker" start an engine and run `wmrl-gym sandbox build` first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from wmrl_gym.sandboxes import (
    BACKEND_NAMES,
    Job,
    JobStatus,
    Limits,
    Sandbox,
    probe_all,
    select_sandbox,
)

PASS = b"pass"
IMPORTS = b"import numpy, pandas, sklearn, sklearn.ensemble, sklearn.linear_model"
BURN = b"import time\nwhile time.process_time() < 1.0: pass"


class Times(NamedTuple):
    """Of one execution, in seconds."""

    total: float
    over: float
    """Beyond the script's own time."""


def execute(sandbox: Sandbox, script: bytes) -> Times:
    began = time.perf_counter()
    result = sandbox.run(Job(files={"main.py": script}, limits=Limits(wall_s=120.0)))
    total = time.perf_counter() - began
    if result.status is not JobStatus.OK:
        raise RuntimeError(f"{sandbox.name}: {result}")
    return Times(total, total - result.wall_s)


def repeat(sandbox: Sandbox, script: bytes, repeats: int) -> list[Times]:
    execute(sandbox, script)  # the first one finds cold caches
    return [execute(sandbox, script) for _ in range(repeats)]


def median_and_p90(seconds: Iterable[float]) -> str:
    """In milliseconds."""
    times = sorted(1000 * value for value in seconds)
    return f"{statistics.median(times):.0f} ({times[int(0.9 * (len(times) - 1))]:.0f})"


def speed_up(sandbox: Sandbox, jobs: int = 4) -> float:
    """Sequential time over the time of a pool of two, for jobs of one CPU second each."""
    began = time.perf_counter()
    for _ in range(jobs):
        execute(sandbox, BURN)
    sequential = time.perf_counter() - began
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: execute(sandbox, BURN), range(jobs)))
    return sequential / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    repeats = parser.parse_args().repeats
    works = {probe.backend: probe for probe in probe_all()}
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    heads = ("pass ms (p90)", "over the script", "imports ms (p90)", "pool of 2")
    print(f"{'back end':<12}" + "".join(f"{head:>18}" for head in heads))
    for name in BACKEND_NAMES:
        if name not in works:
            continue
        if not works[name].works:
            print(f"{name:<12} {works[name].reason}")
            continue
        sandbox = select_sandbox(name)
        passes, imports = (repeat(sandbox, script, repeats) for script in (PASS, IMPORTS))
        cells = (
            median_and_p90(times.total for times in passes),
            median_and_p90(times.over for times in passes),
            median_and_p90(times.total for times in imports),
            f"{speed_up(sandbox):.2f}x",
        )
        print(f"{name:<12}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
