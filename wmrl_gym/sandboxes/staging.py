"""Data directories that nobody may read, made readable: Docker jobs run without any privilege.

A directory whose files are open to all users is used as it is. One that is closed (made with
a strict umask, for one) is copied, once for each state of it that is seen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import threading
from pathlib import Path
from typing import NamedTuple


class _Survey(NamedTuple):
    is_open: bool
    signature: str


class Staging:
    """Copies of closed directories, below a directory that is the caller's to remove."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[Path, int] = {}
        self._lock = threading.Lock()

    def readable(self, path: Path) -> Path:
        """`path` itself if all users may read it, else a copy that they may read.

        Of a directory that was found open, a change deep inside is not looked for again:
        looking takes long where there are many files.
        """
        changed = path.stat().st_mtime_ns
        with self._lock:
            if self._open.get(path) == changed:
                return path
            survey = _survey(path)
            if survey.is_open:
                self._open[path] = changed
                return path
            return self._copy(path, survey.signature)

    def _copy(self, path: Path, signature: str) -> Path:
        copy = self._directory / signature
        if not copy.exists():
            half = self._directory / "half"
            shutil.rmtree(half, ignore_errors=True)
            _copy_tree(path, half)
            half.rename(copy)
        return copy


def _survey(path: Path) -> _Survey:
    """Whether all may read the tree, and what tells this state of it from others."""
    is_open = True
    signature = hashlib.sha256()
    queue = [path]
    while queue:
        directory = queue.pop()
        is_open &= directory.stat().st_mode & 0o005 == 0o005
        for entry in sorted(os.scandir(directory), key=lambda e: e.name):
            status = entry.stat(follow_symlinks=False)
            is_open &= bool(status.st_mode & 0o004)
            fields = (entry.path, status.st_mode, status.st_size, status.st_mtime_ns)
            signature.update(repr(fields).encode())
            if entry.is_dir(follow_symlinks=False):
                queue.append(Path(entry.path))
    return _Survey(is_open, signature.hexdigest()[:32])


def _copy_tree(source: Path, target: Path) -> None:
    target.mkdir()
    target.chmod(0o755)
    for entry in os.scandir(source):
        copy = target / entry.name
        if entry.is_symlink():
            copy.symlink_to(os.readlink(entry.path))
        elif entry.is_dir():
            _copy_tree(Path(entry.path), copy)
        elif stat.S_ISREG(entry.stat().st_mode):
            shutil.copyfile(entry.path, copy)
            copy.chmod(0o644)
