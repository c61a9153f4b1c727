"""Versions of imported tasks, from what they are made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

LAYOUT = "1"
"""Raise it with any change to importing or grading that changes what scores mean."""


def fingerprint(definitions: Iterable[Path], data: Iterable[Path], facts: str) -> str:
    """Hash what a task is made of.

    Args:
        definitions: Files, or directories of files, whose content counts.
        data: Files or directories of which names, sizes and times of change count; they are
            too large to be read for this.
        facts: Whatever else tells versions apart.
    """
    digest = hashlib.sha256(f"layout={LAYOUT}\n{facts}\n".encode())
    for root in definitions:
        for path in _files(root):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{_name(path, root)} {content}\n".encode(errors="surrogateescape"))
    for root in data:
        for path in _files(root):
            stat = path.stat()
            line = f"{_name(path, root)} {stat.st_size} {stat.st_mtime_ns}\n"
            digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()[:12]


def _name(path: Path, root: Path) -> Path:
    """Where a file lies, without the directories above, which differ between machines."""
    return path.relative_to(root.parent)


def _files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield from [root] if root.is_file() else []
        return
    for directory, names, files in os.walk(root):
        names.sort()
        if "__pycache__" in names:
            names.remove("__pycache__")
        paths = (Path(directory, name) for name in sorted(files))
        yield from (path for path in paths if path.is_file())
