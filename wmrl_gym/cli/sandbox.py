"""`wmrl-gym sandbox`: what code of agents can be run in on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from wmrl_gym.errors import MissingDependencyError, SandboxUnavailableError
from wmrl_gym.sandboxes import GUARANTEES, probe_all
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox
from wmrl_gym.sandboxes.docker.sweep import sweep_engine
from wmrl_gym.sandboxes.owned import sweep
from wmrl_gym.sandboxes.prefix import PREFIX_NAME


@dataclass(frozen=True)
class SandboxList:
    """Try every back end, and show which work here and what they enforce."""

    def __call__(self) -> None:
        """Print one line for each back end."""
        table = Table("back end", "works", "enforces", "why not")
        for probe in probe_all():
            missing = sorted(GUARANTEES - probe.enforces)
            enforces = f"all but {', '.join(missing)}" if missing else "everything"
            row = ("yes", enforces) if probe.works else ("no", "")
            table.add_row(probe.backend, *row, probe.reason)
        Console(markup=False).print(table)


@dataclass(frozen=True)
class SandboxBuild:
    """Build the image of the back end "docker", unless it is there; nothing is downloaded."""

    def __call__(self) -> None:
        """Build, and print the name of the image."""
        sandbox = DockerSandbox()
        try:
            print(sandbox.build_image())
        finally:
            sandbox.close()


@dataclass(frozen=True)
class SandboxSweep:
    """Remove what killed processes left: containers and directories."""

    def __call__(self) -> None:
        """Sweep, and print what was removed."""
        for path in sweep(PREFIX_NAME):
            print(f"removed directory {path}")
        try:
            for name in sweep_engine():
                print(f"removed {name}")
        except (SandboxUnavailableError, MissingDependencyError) as error:
            print(f"containers were not looked for: {error}")
