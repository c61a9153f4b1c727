"""Where the data of a task lie: files inside an installed package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.sources.readers import NEEDS, READERS
from wmrl_gym.errors import MissingDependencyError, TaskError


@dataclass(frozen=True)
class Source:
    """Files inside an installed package, and how to read them."""

    package: str
    """Name to install it by, for instance `"scikit-lego"`."""
    module: str
    """Name to import it by, for instance `"sklego"`."""
    files: tuple[str, ...]
    """Paths relative to the module's directory; a pattern such as `stats/*.py` for several."""
    reader: str = "csv"
    """How to read the files, a key of `READERS`."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names of columns, by the names in the files."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Readable labels in place of codes, by column and code."""

    @property
    def installed(self) -> bool:
        """Whether the package, and what its reader needs, is installed."""
        needed = (self.module, *NEEDS.get(self.reader, ()))
        return all(find_spec(module) is not None for module in needed)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, those of a pattern sorted. They hold the answers: keep them from scripts.

        Raises:
            MissingDependencyError: If the package is not installed.
            TaskError: If the package is installed but does not have the files.
        """
        spec = find_spec(self.module)
        if spec is None or spec.origin is None or not self.installed:
            raise MissingDependencyError(
                f"package {self.package!r} holds the data of this task, and it or what reads it "
                'is not installed: pip install "wmrl-gym[tasks]"'
            )
        root = Path(spec.origin).parent
        return tuple(path for file in self.files for path in self._matches(root, file))

    def _matches(self, root: Path, file: str) -> list[Path]:
        paths = sorted(root.glob(file)) if "*" in file else [root / file]
        if not paths or not paths[0].is_file():
            raise TaskError(
                f"the installed {self.package!r} has no file {Path(file).name!r}; "
                'install the versions that were tested: pip install "wmrl-gym[tasks]"'
            )
        return paths

    def read(self) -> pd.DataFrame:
        """Read the whole table, columns and labels as the task names them."""
        frame = READERS[self.reader](self.paths).rename(columns=dict(self.rename))
        for column, labels in self.labels.items():
            frame[column] = frame[column].astype(str).map(labels)
        return frame
