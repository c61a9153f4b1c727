"""The `wmrl-gym` command."""

from __future__ import annotations

import os
import select
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
        try:
            run(arguments)
        finally:
            sys.stdout.flush()  # so that a reader who has left shows here, not at the very end
    except (WMRLError, ValueError) as error:
        sys.exit(f"wmrl-gym: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        if not _reader_left():
            raise
        sys.exit(141)  # as a shell reports SIGPIPE


def _reader_left() -> bool:
    """Whether nobody reads what is printed any more, as after `| head`; if so, drop the rest."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # errors are told in any case
    left = any(event & select.POLLERR for _, event in output.poll(0))
    if left:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return left
