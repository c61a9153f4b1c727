"""Reading the files that describe tasks, and keeping to the directories that they may name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wmrl_gym.errors import MissingDependencyError, TaskError


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Read a YAML file that holds a mapping.

    Raises:
        TaskError: If it cannot be read, or holds something else.
        MissingDependencyError: If PyYAML is not installed.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'reading {path} needs PyYAML: pip install "wmrl-gym[importers]"'
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise TaskError(f"{path} holds no mapping of keys to values")
    return content


def required(content: Mapping[str, Any], key: str, path: Path) -> str:
    """A text at a dotted key of a description.

    Raises:
        TaskError: If it is not there.
    """
    found: Any = content
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, str) or not found:
        raise TaskError(f"{path} has no text at {key}")
    return found


def within(root: Path, name: str, what: str) -> Path:
    """A path that a description names, below the directory that it has to be in.

    Raises:
        TaskError: If it leads out of that directory, by `..`, as an absolute path or by a link.
    """
    path = root / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(root.resolve()):
        raise TaskError(f"{what}={name!r} leads out of {root}")
    return path


def existing(path: Path, what: str) -> Path:
    """`path`, which has to be a file.

    Raises:
        TaskError: If it is not there.
    """
    if not path.is_file():
        raise TaskError(f"{what}: there is no file {path}")
    return path


def read_text(*paths: Path) -> str:
    """The first of the files that is there.

    Raises:
        TaskError: If none is, or it cannot be read.
    """
    for path in paths:
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                raise TaskError(f"{path} cannot be read: {error}") from error
    raise TaskError(f"there is no description at {' or '.join(map(str, paths))}")


def directories(root: Path) -> list[Path]:
    """The directories in a directory, sorted; none if it is no directory."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir())
