"""How long an isolated job takes to start, and whether a pool of two uses two cores.

    python benchmarks/sandbox_start.py --repeats 30 [--json FILE]

Wall-clock times as the caller sees them: sending the job, building and removing the sandbox,
and collecting the result are included; starting the back end (once for a process) is not.
"Over the script" is what an execution of `pass` costs beyond the script's own time. For the
back end "docker" start an engine and run `wmrl-gym sandbox build` first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

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


class Spread(NamedTuple):
    """Of repeated executions, in milliseconds."""

    median: float
    p90: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        times = sorted(round(1000 * value, 1) for value in seconds)
        return cls(statistics.median(times), times[int(0.9 * (len(times) - 1))])

    def __str__(self) -> str:
        return f"{self.median:.0f} ({self.p90:.0f})"


def measure(sandbox: Sandbox, repeats: int) -> dict[str, Any]:
    passes, imports = (repeat(sandbox, script, repeats) for script in (PASS, IMPORTS))
    return {
        "pass ms (p90)": Spread.of(times.total for times in passes),
        "over the script": Spread.of(times.over for times in passes),
        "imports ms (p90)": Spread.of(times.total for times in imports),
        "pool of 2": round(speed_up(sandbox), 2),
    }


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
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    works = {probe.backend: probe for probe in probe_all()}
    machine = {"load": os.getloadavg()[0], "cores": os.cpu_count(), "kernel": platform.release()}
    print(f"load average at the start: {machine['load']:.1f} on {machine['cores']} cores")
    found: dict[str, dict[str, Any]] = {}
    for name in BACKEND_NAMES:
        if name not in works:
            continue
        if not works[name].works:
            print(f"{name:<12} {works[name].reason}")
            continue
        found[name] = measure(select_sandbox(name), arguments.repeats)
        if len(found) == 1:
            print(f"{'back end':<12}" + "".join(f"{head:>18}" for head in found[name]))
        print(f"{name:<12}" + "".join(f"{cell!s:>18}" for cell in found[name].values()))
    if arguments.json is not None:
        report = {"machine": machine, "repeats": arguments.repeats, "back ends": found}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
