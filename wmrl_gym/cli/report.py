"""`wmrl-gym report`: the page of a run, or of several side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Report:
    """Write one self-contained HTML page about a run, or about several, compared.

    A run that goes on or was cut off has a page too: what is missing is named there.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Directories of runs."""
    out: Path | None = None
    """The page; report.html in the directory of the (first) run if not given."""

    def __call__(self) -> None:
        """Read the runs, write the page and say where it is."""
        # Takes a second to import: only for this command.
        from wmrl_gym.report import read_run, write_report

        if not self.runs:
            raise ValueError("runs: give the directory of at least one run")
        runs = [read_run(path) for path in self.runs]
        name = "report.html" if len(runs) == 1 else "comparison.html"
        out = self.out or self.runs[0] / name
        write_report(runs, out)
        for run in runs:
            for note in run.notes:
                print(f"{run.path}: {note}")
        print(f"wrote {out}")
