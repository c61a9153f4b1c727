"""The `wmrl-gym` command."""

from __future__ import annotations

import sys

from wmrl_gym.errors import MissingDependencyError, WMRLError


def main(arguments: list[str] | None = None) -> None:
    """Run the command; `arguments` are those of the process unless given."""
    try:
        from wmrl_gym.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("tyro", "rich"):
            raise
        missing = MissingDependencyError(
            f'the command needs {error.name}: pip install "wmrl-gym[cli]"'
        )
        sys.exit(f"wmrl-gym: {missing}")
    try:
        run(arguments)
    except (WMRLError, ValueError) as error:
        sys.exit(f"wmrl-gym: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
