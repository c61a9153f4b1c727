"""What solutions may read of an imported task: its public files without answers and graders.

Where a public directory holds neither, it is shown as it is. Elsewhere a copy without them is
made in the cache, of hard links where that is possible.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.prepare import cache_directory
from wmrl_gym.errors import TaskError


@dataclass(frozen=True)
class PublicFiles:
    """Which files are shown."""

    sources: Mapping[str, Path]
    """Files and directories, by the path that they are shown at; `""` for the whole."""
    secrets: frozenset[Path] = field(default_factory=frozenset)
    """Files and directories that are never shown, nor files with the same content."""

    def directory(self, version: str) -> Path:
        """The directory to show.

        Args:
            version: Version of the task, which a copy is kept under.

        Raises:
            TaskError: If a file is a pointer of Git LFS, or the copy cannot be written.
        """
        shown = dict(self._shown())
        for path in shown.values():
            refuse_pointer(path)
        whole = self.sources.get("")
        is_plain = not any(path.is_symlink() for path in shown.values())
        if whole is not None and is_plain and shown == _files(whole):
            return whole
        place = cache_directory() / "imported" / version / "public"
        if not place.is_dir():
            try:
                _stage(shown, place)
            except OSError as error:
                raise TaskError(
                    f"cannot write public files to {place}: {error}; set the environment "
                    "variable WMRL_GYM_CACHE to a directory that can be written"
                ) from error
        return place

    def _shown(self) -> Iterator[tuple[str, Path]]:
        is_secret = _Secrets(self.secrets)
        for prefix, source in self.sources.items():
            for name, path in _files(source).items():
                if not (is_secret(path) or _leads_outside(path, source)):
                    yield os.path.join(prefix, name) if name != "." else prefix, path


class _Secrets:
    """Tells whether a file is one that is never shown."""

    def __init__(self, secrets: frozenset[Path]) -> None:
        self._places = {path.resolve() for path in secrets}
        files = [path for path in self._places if path.is_file()]
        self._by_size: dict[int, list[Path]] = {}
        for path in files:
            self._by_size.setdefault(path.stat().st_size, []).append(path)

    def __call__(self, path: Path) -> bool:
        """Whether `path` is secret, lies in a secret directory, or has a secret's content."""
        resolved = path.resolve()
        if self._places & {resolved, *resolved.parents}:
            return True
        same_size = self._by_size.get(resolved.stat().st_size, [])
        return any(filecmp.cmp(resolved, secret, shallow=False) for secret in same_size)


def _files(source: Path) -> dict[str, Path]:
    """All files of a directory, or one file, by relative path."""
    if source.is_file():
        return {".": source}
    found = {}
    for directory, names, files in os.walk(source):
        names.sort()
        for name in sorted(files):
            path = Path(directory, name)
            found[str(path.relative_to(source))] = path
    return found


def _leads_outside(path: Path, source: Path) -> bool:
    """Whether a link leads out of the directory: what it would show was not meant to be shown."""
    if not path.is_file():
        return True
    return path.is_symlink() and not path.resolve().is_relative_to(source.resolve())


def _stage(shown: Mapping[str, Path], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        for name, path in shown.items():
            target = draft / name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            _link_or_copy(path.resolve(), target)
        draft.chmod(0o755)
        try:
            draft.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another process was first
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _link_or_copy(source: Path, target: Path) -> None:
    # A link shares its mode with the original, which may not be changed; the sandbox may run as
    # another user.
    if source.stat().st_mode & 0o004:
        try:
            os.link(source, target)
            return
        except OSError:  # another file system, or one without links
            pass
    shutil.copyfile(source, target)
    target.chmod(0o644)
