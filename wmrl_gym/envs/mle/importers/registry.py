"""The short names that a user has given to imported tasks, kept in the cache directory."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.importers.layouts import ImportOptions
from wmrl_gym.envs.mle.prepare import cache_directory
from wmrl_gym.errors import TaskError


@dataclass(frozen=True)
class Entry:
    """What a name stands for."""

    path: str
    """The directory, absolute."""
    member: str
    """Name of the task in the directory."""
    layout: str
    options: ImportOptions

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON."""
        options = {
            name: str(value) if isinstance(value, Path) else value
            for name, value in asdict(self.options).items()
        }
        return {**asdict(self), "options": options}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Entry:
        """The entry of which `to_json` wrote the content."""
        options = dict(content["options"])
        for name in ("definitions", "data"):
            if options.get(name):
                options[name] = Path(options[name])
        known = {field.name for field in fields(ImportOptions)}
        told = ImportOptions(**{name: value for name, value in options.items() if name in known})
        return cls(content["path"], content["member"], content["layout"], told)


def entries() -> dict[str, Entry]:
    """All names.

    Raises:
        TaskError: If the file cannot be read.
    """
    try:
        content = json.loads(_place().read_text(encoding="utf-8"))
        return {name: Entry.from_json(entry) for name, entry in content.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise TaskError(
            f"the names of imported tasks cannot be read ({error!r}); remove {_place()} and "
            "import them again"
        ) from error


@contextmanager
def changed() -> Iterator[dict[str, Entry]]:
    """The names, to be changed; written back at the end, and by one process at a time.

    Raises:
        TaskError: If the file cannot be read or written.
    """
    try:
        _place().parent.mkdir(parents=True, exist_ok=True)
        with (_place().parent / "imported.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            names = entries()
            yield names
            _write({name: entry.to_json() for name, entry in sorted(names.items())})
    except OSError as error:
        raise TaskError(
            f"cannot write {_place()}: {error}; set the environment variable WMRL_GYM_CACHE to a "
            "directory that can be written"
        ) from error


def _place() -> Path:
    return cache_directory() / "imported.json"


def _write(content: Mapping[str, Any]) -> None:
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=_place().parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    Path(draft).replace(_place())
