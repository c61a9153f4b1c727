"""How long an isolated job takes to start, and whether a pool of two uses two cores.

    python benchmarks/sandbox_start.py --repeats 30

Wall-clock times as the caller sees them: sending the job, building and removing the sandbox,
and collecting the result are included; starting the back end (once for a process) is not.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

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


def seconds(sandbox: Sandbox, script: bytes) -> float:
    began = time.perf_counter()
    result = sandbox.run(Job(files={"main.py": script}, limits=Limits(wall_s=120.0)))
    if result.status is not JobStatus.OK:
        raise RuntimeError(f"{sandbox.name}: {result}")
    return time.perf_counter() - began


def median_and_p90(sandbox: Sandbox, script: bytes, repeats: int) -> tuple[float, float]:
    seconds(sandbox, script)  # the first one finds cold caches
    times = sorted(seconds(sandbox, script) for _ in range(repeats))
    return statistics.median(times), times[int(0.9 * (len(times) - 1))]


def speed_up(sandbox: Sandbox, jobs: int = 4) -> float:
    """Sequential time over the time of a pool of two, for jobs of one CPU second each."""
    began = time.perf_counter()
    for _ in range(jobs):
        seconds(sandbox, BURN)
    sequential = time.perf_counter() - began
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: seconds(sandbox, BURN), range(jobs)))
    return sequential / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    repeats = parser.parse_args().repeats
    works = {probe.backend: probe for probe in probe_all()}
    print(f"{'back end':<12} {'pass ms (p90)':>16} {'imports ms (p90)':>18} {'pool of 2':>10}")
    for name in BACKEND_NAMES:
        if name not in works:
            continue
        if not works[name].works:
            print(f"{name:<12} {works[name].reason}")
            continue
        sandbox = select_sandbox(name)
        cells = [
            "{:.0f} ({:.0f})".format(*(1000 * t for t in median_and_p90(sandbox, script, repeats)))
            for script in (PASS, IMPORTS)
        ]
        print(f"{name:<12} {cells[0]:>16} {cells[1]:>18} {speed_up(sandbox):>9.2f}x")


if __name__ == "__main__":
    main()
