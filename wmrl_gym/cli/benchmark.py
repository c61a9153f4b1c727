"""`wmrl-gym benchmark`: arms of the method side by side, and what they are worth."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from wmrl_gym.benchmark.arms import MAIN, REFERENCE, SWEEPS, swept
from wmrl_gym.benchmark.results import ArmResult, read_results
from wmrl_gym.benchmark.scenarios import SCENARIOS, find_scenario
from wmrl_gym.benchmark.study import finished, plan, run_jobs
from wmrl_gym.benchmark.tables import ArmRow, compare, markdown, sweep_points


@dataclass(frozen=True)
class Benchmark:
    """Run arms on the same tasks and seeds, and compare them with every group executed.

    A study that was stopped goes on where it was: what is finished is kept. Tables and plots are
    written beside the results, which are one small JSON file for each arm and seed.
    """

    out: Path
    """Directory of the results."""
    scenario: str = "lenient"
    """What it is made on; --scenarios shows them."""
    arms: tuple[str, ...] = MAIN
    """Arms; "real" executes every group, "both" is the method; see the documentation."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Seeds; arms are paired by seed."""
    sweep: Literal["anchors", "noise"] | None = None
    """Turn a dial: the share of anchors, or the noise of a synthetic world model. Arms are trained
    at each of its values."""
    size: Literal["small", "full"] = "small"
    """Small: all arms and seeds in minutes."""
    at_once: int = 1
    """Arms that train at once on this machine; the cores are shared out among them."""
    address: str | None = None
    """Address of a Ray cluster to train them on instead, or "auto"."""
    report_only: bool = False
    """Train nothing, and report what there is."""
    scenarios: bool = False
    """Show the scenarios and stop."""

    def __call__(self) -> None:
        """Train what is missing, print the tables and write them."""
        if self.scenarios:
            for scenario in SCENARIOS.values():
                print(f"{scenario.name:<12} {scenario.about}")
            return
        if self.at_once < 1:
            raise ValueError(f"at_once={self.at_once} must be at least 1")
        failed = [] if self.report_only else self._run()
        results, notes = read_results(self.out)
        for note in (*notes, *failed):
            print(note)
        report(results, self.out)

    def _run(self) -> list[str]:
        """Train what is missing; what failed, in words."""
        scenario = find_scenario(self.scenario)
        cores = len(os.sched_getaffinity(0))
        jobs = plan(
            scenario,
            arms=self.arms if self.sweep is None else swept(self.arms, self.sweep),
            seeds=self.seeds,
            directory=self.out,
            small=self.size == "small",
            workers=None if self.address is not None else max(1, cores // self.at_once),
        )
        missing = [job for job in jobs if finished(job) is None]
        print(f"{scenario.about} {len(jobs) - len(missing)} of {len(jobs)} runs are finished.")
        self.out.mkdir(parents=True, exist_ok=True)
        failed = []
        for job, result in run_jobs(missing, at_once=self.at_once, address=self.address):
            if isinstance(result, BaseException):
                failed.append(f"{job} failed: {result}")
                print(failed[-1], flush=True)
                continue
            scores = result.scores(held_out=False).values()
            print(
                f"{job}: true score {sum(scores) / len(scores):.3f}, {result.executions:.0f} "
                f"executions, {result.seconds:.0f} s",
                flush=True,
            )
        return failed


def report(results: Sequence[ArmResult], directory: Path) -> None:
    """Print the table of a study, and write `table.md`, `table.json` and the plots."""
    arms = {result.arm for result in results}
    reference = REFERENCE if REFERENCE in arms else results[0].arm
    rows = compare(results, reference=reference)
    Console(markup=False).print(_table(rows))
    (directory / "table.md").write_text(markdown(rows) + "\n")
    tables = directory / "tables"
    tables.mkdir(exist_ok=True)
    (tables / "table.json").write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    try:
        from wmrl_gym.benchmark import plots
    except ModuleNotFoundError:
        print('no plots: pip install "wmrl-gym[report]"')
        return
    plots.plot_scores(rows, directory / "scores.png")
    plots.plot_profiles(results, directory / "profiles.png")
    for over, label in (("executions", "real executions"), ("seconds", "seconds")):
        plots.plot_curves(results, directory / f"curve-{over}.png", over=over, label=label)
    for sweep, points in sweep_points(rows).items():
        plots.plot_sweep(points, directory / f"sweep-{sweep}.png", label=SWEEPS[sweep].label)


def _table(rows: Sequence[ArmRow]) -> Table:
    table = Table("arm", "seeds", "true score", "held out", "gain", "executions", "s", "faster")
    for row in rows:
        gain = row.gain
        table.add_row(
            row.arm,
            str(len(row.seeds)),
            str(row.score),
            "" if row.held_out is None else str(row.held_out),
            "" if gain is None else f"{gain.estimate:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]",
            f"{row.executions.estimate:.0f}",
            f"{row.seconds.estimate:.0f}",
            "" if row.speedup is None else f"{row.speedup.estimate:.1f}x",
        )
    return table
