"""Reading data sets straight from the files of installed packages.

Nothing is downloaded and no package is imported: its directory is looked up and the file is
read, since importing `river` or `statsmodels` takes seconds and a data file takes none.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from wmrl_gym.errors import MissingDependencyError, TaskError

Reader = Callable[[tuple[Path, ...]], pd.DataFrame]


@dataclass(frozen=True)
class Source:
    """Where the data of a task lie: files inside an installed package."""

    package: str
    """Name to install it by, for instance `"scikit-lego"`."""
    module: str
    """Name to import it by, for instance `"sklego"`."""
    files: tuple[str, ...]
    """Paths relative to the module's directory."""
    reader: str = "csv"
    """How to read the files, a key of `READERS`."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names of columns, by the names in the files."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Readable labels in place of codes, by column and code."""

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        return find_spec(self.module) is not None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files. They hold the answers: a sandbox must keep them out of reach.

        Raises:
            MissingDependencyError: If the package is not installed.
            TaskError: If the package is installed but does not have the files.
        """
        spec = find_spec(self.module)
        if spec is None or spec.origin is None:
            raise MissingDependencyError(
                f"package {self.package!r} holds the data of this task and is not installed: "
                'pip install "wmrl-gym[tasks]"'
            )
        paths = tuple(Path(spec.origin).parent / file for file in self.files)
        for path in paths:
            if not path.is_file():
                raise TaskError(
                    f"the installed {self.package!r} has no file {path.name!r}; "
                    f'install the versions that were tested: pip install "wmrl-gym[tasks]"'
                )
        return paths

    def read(self) -> pd.DataFrame:
        """Read the whole table, columns and labels as the task names them."""
        frame = READERS[self.reader](self.paths).rename(columns=dict(self.rename))
        for column, labels in self.labels.items():
            frame[column] = frame[column].astype(str).map(labels)
        return frame


def _csv(paths: tuple[Path, ...]) -> pd.DataFrame:
    return _exact(paths[0])


def _exact(path: Path, **options: Any) -> pd.DataFrame:
    """Read CSV with numbers as Python reads them.

    How pandas rounds the last digit depends on its version, and ids depend on that digit.
    """
    text: pd.DataFrame = pd.read_csv(path, dtype=str, **options)
    return text.apply(_numbers)


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers if all are, else numbers if all are, else the text as it is."""
    for number in (int, float):
        try:
            return pd.Series([number(cell) for cell in column], index=column.index)
        except ValueError:
            continue
    return column


def _anes(paths: tuple[Path, ...]) -> pd.DataFrame:
    return _exact(paths[0], sep="\t", quotechar="'")


def _airports(paths: tuple[Path, ...]) -> pd.DataFrame:
    frame = _csv(paths).query("country == 'USA'").dropna(subset="state")
    # Fewer than ten airports would leave classes of one or two rows in the hidden part.
    return frame[frame.groupby("state")["state"].transform("size") >= 10]


def _bananas(paths: tuple[Path, ...]) -> pd.DataFrame:
    with zipfile.ZipFile(paths[0]) as archive:
        lines = archive.read("banana.all.txt").decode().splitlines()
    rows = [line.split() for line in lines]
    return pd.DataFrame(
        {
            "x": [float(row[1].removeprefix("1:")) for row in rows],
            "y": [float(row[2].removeprefix("2:")) for row in rows],
            "banana": [int(row[0] == "1") for row in rows],
        }
    )


def _cars(paths: tuple[Path, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(json.loads(paths[0].read_text(encoding="utf-8")))
    return frame.assign(Year=[int(date[:4]) for date in frame["Year"]])


def _affairs(paths: tuple[Path, ...]) -> pd.DataFrame:
    frame = _csv(paths)
    return frame.assign(affairs=(frame["affairs"] > 0).astype(int))


def _breast_cancer(paths: tuple[Path, ...]) -> pd.DataFrame:
    measured = "radius texture perimeter area smoothness compactness concavity concave_points"
    measures = [*measured.split(), "symmetry", "fractal_dimension"]
    names = [f"{kind}_{name}" for kind in ("mean", "error", "worst") for name in measures]
    return _headless(paths[0], [*names, "diagnosis"], skip=1)


def _wine(paths: tuple[Path, ...]) -> pd.DataFrame:
    names = (
        "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
        "nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315 proline cultivar"
    )
    return _headless(paths[0], names.split(), skip=1)


def _digits(paths: tuple[Path, ...]) -> pd.DataFrame:
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _headless(paths[0], [*pixels, "digit"])


def _diabetes(paths: tuple[Path, ...]) -> pd.DataFrame:
    names = ["age", "sex", "bmi", "blood_pressure", *(f"s{k}" for k in range(1, 7))]
    frame = _headless(paths[0], names, sep=r"\s+")
    # Four digits were measured; the file in scikit-learn 1.4 has 5.3660000000000005 and the like.
    progression = _headless(paths[1], ["progression"])["progression"]
    return frame.round({"s5": 4}).assign(progression=progression)


def _headless(path: Path, names: list[str], *, skip: int = 0, sep: str = ",") -> pd.DataFrame:
    return _exact(path, header=None, names=names, skiprows=skip, sep=sep)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "csv": _csv,
        "affairs": _affairs,
        "airports": _airports,
        "anes": _anes,
        "bananas": _bananas,
        "breast-cancer": _breast_cancer,
        "cars": _cars,
        "diabetes": _diabetes,
        "digits": _digits,
        "wine": _wine,
    }
)
"""How to read the files of a source into one frame, by the name that a task gives."""
