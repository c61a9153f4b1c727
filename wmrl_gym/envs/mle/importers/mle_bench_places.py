"""Where MLE-bench's data and definitions lie, and how to find the one from the other."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from wmrl_gym.envs.mle.importers.layouts import ImportOptions
from wmrl_gym.envs.mle.importers.reading import directories

DATA_VARIABLE = "WMRL_GYM_MLE_BENCH_DATA"
"""Environment variable that names a directory of data."""
DEFINITIONS_VARIABLE = "WMRL_GYM_MLE_BENCH_DEFINITIONS"
"""Environment variable that names a directory of definitions."""

_COMPETITIONS = (Path("."), Path("competitions"), Path("mlebench", "competitions"))
"""Where definitions may lie in a directory that a user names: in itself, or as in a clone."""


def data_within(directory: Path) -> list[Path]:
    """Directories with prepared data: `directory` itself, or those in it."""
    if directory.name == "prepared" and is_data(directory.parent):
        return [directory.parent]
    if is_data(directory):
        return [directory]
    return [path for path in directories(directory) if is_data(path)]


def definitions_within(directory: Path) -> list[Path]:
    """Directories with a definition: `directory` itself, or those in it."""
    if is_definition(directory):
        return [directory]
    for place in _COMPETITIONS:
        found = [path for path in directories(directory / place) if is_definition(path)]
        if found:
            return found
    return []


def is_data(path: Path) -> bool:
    """Whether a directory has the prepared data of a competition."""
    return all((path / "prepared" / part).is_dir() for part in ("public", "private"))


def is_definition(path: Path) -> bool:
    """Whether a directory has the definition of a competition."""
    return (path / "config.yaml").is_file()


def definition_of(data: Path, options: ImportOptions) -> Path | None:
    """The definition of the competition that `data` is the directory of."""
    if is_definition(data):
        return data
    named = [options.definitions, _variable(DEFINITIONS_VARIABLE)]
    roots = [root for root in [*named, *list(data.parents)[:4]] if root is not None]
    for root in [*roots, *_installed()]:
        for path in (root, *(root / place / data.name for place in _COMPETITIONS)):
            if path.name == data.name and is_definition(path):
                return path
    # A definition that was named by itself need not be called like its data.
    return named[0] if named[0] is not None and is_definition(named[0]) else None


def data_of(definition: Path, options: ImportOptions) -> Path | None:
    """The data of the competition that `definition` is the directory of."""
    if options.data is not None and is_data(options.data):
        return options.data
    clone = definition.parents[2] if len(definition.parents) > 2 else definition
    roots = (
        options.data,
        _variable(DATA_VARIABLE),
        definition.parent,
        definition.parent / "data",
        clone / "data",
        _default_data(),
    )
    found = [root / definition.name for root in roots if root is not None]
    return next((path for path in [definition, *found] if is_data(path)), None)


def data_hint() -> str:
    """How to say where data are."""
    return f"looked beside them and in {_default_data()}; name theirs by --data or {DATA_VARIABLE}"


def definition_hint(identifier: str) -> str:
    """How to say where definitions are."""
    return (
        f"name the directory that has {identifier}/config.yaml, mlebench/competitions of a clone "
        f"of MLE-bench, by --definitions or {DEFINITIONS_VARIABLE}"
    )


def _default_data() -> Path:
    return platformdirs.user_cache_path() / "mle-bench" / "data"


def _variable(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value).expanduser() if value else None


def _installed() -> Iterator[Path]:
    """Where MLE-bench is installed from a clone, if it is; it is not imported."""
    spec = importlib.util.find_spec("mlebench")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location)
