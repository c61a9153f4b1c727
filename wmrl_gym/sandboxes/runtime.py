"""What of this machine a job may read: an interpreter, system libraries and listed packages.

Everything else of the caller's environment stays out of sight, above all other installed
packages: data sets come from packages, and so do the answers that a task hides. The listed
ones are shown through a virtual environment of our own (`wmrl_gym.sandboxes.prefix`), whose
site-packages holds links to them and nothing else. A job's interpreter runs in there in every
back end, and so does the fork server, so that a library that was imported in advance saw the
same packages as the job.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_DISTRIBUTIONS = ("numpy", "scipy", "pandas", "scikit-learn")
"""Shown to jobs, with all that they require."""
_OPTIONAL = ("pytz", "tzdata", "six")
"""Shown to jobs if installed."""

_PRELOAD = (
    "numpy",
    "pandas",
    "scipy.sparse",
    "scipy.stats",
    "threadpoolctl",
    "sklearn.cluster",
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.impute",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
)
"""What most scripts import; the rest they import when they run."""

_SYSTEM = ("/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_FOREIGN = ("python*/site-packages", "python*/dist-packages", "R")
"""Within a library directory: packages that are not ours to show."""
ANSWERS = (
    *("sklearn/datasets/data", "sklearn/datasets/images", "sklearn/datasets/tests"),
    *("pydoc_data", "wsgiref", "xmlrpc"),
)
"""Within site-packages or a standard library: data that tasks are made from.

The three packages of the standard library are texts to a language model, and nothing that jobs
may use needs them.
"""


@dataclass(frozen=True)
class Runtime:
    """An interpreter with its libraries, and what of them a job sees."""

    python: Path
    """The interpreter itself, links resolved."""
    packages: tuple[Path, ...]
    """Files and directories to show in site-packages."""
    readable: tuple[Path, ...]
    """Trees (or files) that a job may read, `packages` among them."""
    masked: tuple[Path, ...]
    """Trees within `readable` that it may not read, save for what `readable` lists below them."""
    preload: tuple[str, ...]
    """Modules that are worth importing in advance."""


@functools.cache
def find_runtime() -> Runtime:
    """The runtime of this interpreter.

    Raises:
        metadata.PackageNotFoundError: A library that jobs are promised is not installed.
    """
    packages = tuple(sorted({entry for name in _shown() for entry in _entries(name)}))
    python = Path(sys.executable).resolve()
    libraries = [Path(sys.base_prefix, name) for name in ("lib", "lib64")]
    stdlib = Path(sysconfig.get_path("stdlib"))
    trees = [*map(Path, _SYSTEM), *libraries, stdlib]
    readable = [p for p in (*trees, python, *packages) if p.exists()]
    # Debian's interpreter executes this file, which is a link out of the library directory.
    readable += [p.resolve() for p in [stdlib / "sitecustomize.py"] if p.exists()]
    return Runtime(
        python=python,
        packages=packages,
        readable=tuple(readable),
        masked=tuple(sorted(_masked(trees, packages))),
        preload=_PRELOAD,
    )


def further_entries(names: Sequence[str]) -> tuple[Path, ...]:
    """What distributions, and all that they require, have in site-packages and jobs do not see.

    Args:
        names: Names of installed distributions.

    Raises:
        metadata.PackageNotFoundError: One is not installed.
    """
    added = set(_closure(names)) - set(_shown())
    return tuple(sorted({entry for name in added for entry in _entries(name)}))


def _shown() -> list[str]:
    """Names of the distributions that all jobs see."""
    return _closure([*_DISTRIBUTIONS, *filter(_is_installed, _OPTIONAL)])


def _closure(names: Iterable[str]) -> list[str]:
    """Names of distributions and of all that they require here."""
    found: dict[str, None] = {}
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = None
            queue += [r for r in _requirements(name) if _is_installed(r)]
    return list(found)


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _requirements(name: str) -> list[str]:
    """Names that `name` requires, extras left out; a marker that does not hold does no harm."""
    lines = metadata.requires(name) or []
    matches = [re.match(r"[A-Za-z0-9._-]+", line) for line in lines if "extra ==" not in line]
    return [m.group().lower() for m in matches if m is not None]


def _entries(name: str) -> list[Path]:
    """What a distribution put into site-packages, on its top level."""
    distribution = metadata.distribution(name)
    if distribution.files:
        names = {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}
    else:  # packages of an operating system come without a list of their files
        listed = distribution.read_text("top_level.txt") or name.replace("-", "_")
        names = {n for top in listed.split() for n in (top, f"{top}.py")}
    site = Path(str(distribution.locate_file(""))).resolve()
    return [site / n for n in names if (site / n).exists() and not n.endswith(".pth")]


def _masked(trees: list[Path], packages: tuple[Path, ...]) -> set[Path]:
    foreign = {found for tree in trees for pattern in _FOREIGN for found in tree.glob(pattern)}
    # A standard library lies beside its site-packages in some layouts, around it in others.
    foreign |= {tree / name for tree in trees for name in ("site-packages", "dist-packages")}
    answers = {place / name for place in _libraries(trees, packages) for name in ANSWERS}
    test_data = {found for package in packages for found in _test_data(package)}
    return {path.resolve() for path in foreign | answers | test_data if path.is_dir()}


def _libraries(trees: list[Path], packages: tuple[Path, ...]) -> set[Path]:
    """Directories that are imported from, those of other interpreters among them."""
    standard = {found for tree in trees for found in (tree, *tree.glob("python*"))}
    return standard | {package.parent for package in packages}


def _test_data(package: Path) -> list[Path]:
    """Libraries test themselves on data sets that are also used as tasks (iris, for one)."""
    walk = os.walk(package)
    return [Path(d, "data") for d, names, _ in walk if d.endswith("/tests") and "data" in names]
