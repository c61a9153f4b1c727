"""`wmrl-gym doctor`: what works on this machine, and how to mend what does not."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from wmrl_gym.cli.diagnosis import Finding, diagnose


@dataclass(frozen=True)
class Doctor:
    """Say what works on this machine, with the command that mends each lack.

    Ends with the exit code 1 if no sandbox works: then no code of an agent can be executed.
    """

    json: bool = False
    """Print JSON instead of a table."""

    def __call__(self) -> None:
        """Look at everything and print it."""
        findings = list(diagnose())
        if self.json:
            print(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            _print(findings)
        if not any(finding.works for finding in findings if finding.subject.startswith("sandbox")):
            raise SystemExit(1)


def _print(findings: list[Finding]) -> None:
    table = Table("", "", "found", "mend")
    for finding in findings:
        mark = "yes" if finding.works else "no"
        table.add_row(finding.subject, mark, finding.detail, finding.mend)
    Console(markup=False).print(table)
