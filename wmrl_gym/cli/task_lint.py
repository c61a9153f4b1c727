"""`wmrl-gym tasks lint`: whether a task gives its answers away."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from wmrl_gym.envs.mle.catalog import load_tasks
from wmrl_gym.envs.mle.lint import Severity, lint


@dataclass(frozen=True)
class TasksLint:
    """Look for leaks of the answers of tasks."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Names or paths of tasks."""

    def __call__(self) -> None:
        """Print what was found; exit with status 1 if a task gives its answers away."""
        leaks = False
        for task in (task for reference in self.tasks for task in load_tasks(reference)):
            found = lint(task)
            print(f"{task.name}: {'' if found else 'nothing found'}".rstrip())
            for finding in found:
                print(f"  {finding}")
            leaks |= any(finding.severity is Severity.ERROR for finding in found)
        if leaks:
            sys.exit(1)
