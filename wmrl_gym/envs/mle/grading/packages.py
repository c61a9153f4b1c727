"""Packages that graders import beyond those that every sandbox has.

Only graders see them: agents' scripts might find the answers of a task in a package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import NamedTuple

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.sandboxes.runtime import further_entries

VARIABLE = "WMRL_GYM_GRADING_PACKAGES"
"""Environment variable that names installed distributions, separated by commas."""
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


class Packages(NamedTuple):
    """What to put where a grader imports from."""

    files: Mapping[str, Path]
    """Modules that are one file, to be placed beside the grader."""
    data: Mapping[str, Path]
    """Directories, to be read at `../<name>`: `..` is one more place to import from."""


def grading_packages() -> Packages:
    """The distributions that the environment variable names, and all that they require.

    Raises:
        MissingDependencyError: If one is not installed.
    """
    names = os.environ.get(VARIABLE, "").split(",")
    return _packages(tuple(name.strip() for name in names if name.strip()))


def hint(complaint: str) -> str:
    """What to do about a module that a grader lacks; empty if it complains of something else."""
    missing = _MISSING.search(complaint)
    if missing is None:
        return ""
    return (
        f"; if {missing[1].partition('.')[0]!r} is a package that the grader needs, install it and "
        f"name its distribution in {VARIABLE}"
    )


@cache
def _packages(names: tuple[str, ...]) -> Packages:
    try:
        entries = further_entries(names)
    except PackageNotFoundError as error:
        raise MissingDependencyError(
            f"{VARIABLE}={','.join(names)} names {error.name!r}, which is not installed: "
            f"pip install {error.name}"
        ) from error
    return Packages(
        files={path.name: path for path in entries if path.is_file()},
        data={path.name: path for path in entries if path.is_dir()},
    )
