"""`wmrl-gym collect`: real outcomes of varied actions, to fit and to judge world models with."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from wmrl_gym.benchmark.collection import Collection, collect_scripts
from wmrl_gym.interchange.outcomes import OutcomeRecord, OutcomeWriter
from wmrl_gym.outcomes import Status

Collector = Callable[[Collection], Iterator[list[OutcomeRecord]]]
"""Checks what is asked for at once, then executes one group of actions after the other."""

_COLLECTORS: Mapping[str, Collector] = {"WMRL-MLE-v0": collect_scripts}
_RECORDED_PACKAGES = ("wmrl-gym", "numpy", "pandas", "scikit-learn", "scipy")


@dataclass(frozen=True)
class Collect:
    """Execute varied actions for real, group by group, and write down what came of them."""

    out: Path
    """New file of outcomes, JSON Lines; compressed if its name ends in .gz."""
    env: str = "WMRL-MLE-v0"
    """Id of the environment."""
    collection: Annotated[Collection, tyro.conf.OmitArgPrefixes] = field(default_factory=Collection)

    def __call__(self) -> None:
        """Execute and write; an interrupt leaves the groups that are done."""
        if self.env not in _COLLECTORS:
            raise ValueError(f"env={self.env!r} must be one of {', '.join(_COLLECTORS)}")
        statuses: Counter[Status] = Counter()
        groups = _COLLECTORS[self.env](self.collection)
        with OutcomeWriter(self.out, self._provenance()) as writer:
            for done, records in enumerate(groups, start=1):
                writer.write(records)
                statuses.update(record.outcome.status for record in records)
                print(f"groups={done}/{self.collection.groups} {records[0].execution.task}")
        Console().print(_table(statuses))

    def _provenance(self) -> dict[str, Any]:
        # Where things lie on this machine decides nothing about the outcomes.
        settings = {k: v for k, v in asdict(self.collection).items() if k != "store"}
        return {
            "command": "wmrl-gym collect",
            "env": self.env,
            **settings,
            "versions": package_versions(),
        }


def package_versions() -> dict[str, str]:
    """Versions of Python and of what decides how scripts end and what is predicted."""
    found = {"python": platform.python_version()}
    for name in _RECORDED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree that is not installed
            continue
    return found


def _table(statuses: Counter[Status]) -> Table:
    table = Table("status", "executions")
    for status in Status:
        if statuses[status]:
            table.add_row(status.name.lower().replace("_", " "), str(statuses[status]))
    return table
