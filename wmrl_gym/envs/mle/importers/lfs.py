"""Git LFS pointers: small text files that stand where a clone did not fetch the content."""

from __future__ import annotations

from pathlib import Path

from wmrl_gym.errors import TaskError

_FIRST = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1024
"""A pointer has less than this."""


def is_pointer(path: Path) -> bool:
    """Whether a file is a pointer; a file that is not there is none."""
    try:
        if path.stat().st_size >= _MOST_BYTES:
            return False
        with path.open("rb") as file:
            return file.read(len(_FIRST)) == _FIRST
    except OSError:
        return False


def refuse_pointer(path: Path) -> None:
    """Raise `TaskError` for a pointer, with the command that mends it."""
    if is_pointer(path):
        raise TaskError(f"{path} is a pointer of Git LFS, not the file itself; {mend(path)}")


def mend(path: Path) -> str:
    """How to fetch what a pointer stands for."""
    return f'to fetch it, run: git -C {path.parent} lfs pull --include "{path.name}"'
