"""Directories that belong to one process, and what tells whether that process is alive.

A lock, which the kernel drops with its holder however that ends, says that the owner lives.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from io import FileIO
from pathlib import Path

_LOCK = "lock"


class OwnedDirectory:
    """A fresh directory, held by a lock until `remove`.

    Args:
        name: How names of such directories begin. Those that a dead owner left are removed.
    """

    def __init__(self, name: str) -> None:
        parent = _parent()
        sweep(name)
        self.path = Path(tempfile.mkdtemp(prefix=name, dir=parent)).resolve()
        self._lock = _take_lock(self.path)

    def disown(self) -> None:
        """In a fork of the owner: leave the directory to the owner."""
        self._lock.close()

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep(name: str) -> list[Path]:
    """Remove the directories called `name`... that dead owners left; their paths."""
    removed = []
    for lock in _parent().glob(f"{name}*/{_LOCK}"):
        try:
            with FileIO(lock, "r") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
                removed.append(lock.parent)
        except OSError:
            continue  # in use, or another user's
    return removed


def is_held(path: Path) -> bool | None:
    """Whether the owner of the directory `path` lives; `None` if this cannot be told here."""
    try:
        with FileIO(path / _LOCK, "r") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return None


def _parent() -> Path:
    # Not below /tmp, which a job sees as a directory of its own.
    return Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir())


def _take_lock(path: Path) -> FileIO:
    lock = FileIO(path / "new-lock", "x")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (path / "new-lock").rename(path / _LOCK)  # only now may others take it for abandoned
    return lock
