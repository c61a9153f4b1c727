"""Reading text tables with numbers as Python reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def read_exact(path: Path, **options: Any) -> pd.DataFrame:
    """Read CSV without rounding.

    How pandas rounds the last digit depends on its version, and ids depend on that digit.

    Args:
        path: The file, compressed or not.
        **options: Further arguments of `pandas.read_csv`.

    Returns:
        Columns of int where all cells are whole numbers, of float where all are numbers or
        missing, of str otherwise.
    """
    text: pd.DataFrame = pd.read_csv(path, dtype=str, **options)
    return text.apply(_numbers)


def read_headless(path: Path, names: Sequence[str], **options: Any) -> pd.DataFrame:
    """Read CSV whose first line is no header, or one to skip with `skiprows`."""
    return read_exact(path, header=None, names=list(names), **options)


def read_indexed(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Read CSV whose first column numbers the rows, which says nothing."""
    return read_exact(paths[0]).iloc[:, 1:]


def read_plain(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Read CSV as it is."""
    return read_exact(paths[0])


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers if all are, else numbers if all are, else the text as it is."""
    cells = column.to_numpy(dtype=object)  # numpy hands each of them to Python's int or float
    for number in (np.int64, np.float64):
        try:
            return pd.Series(cells.astype(number), index=column.index)
        except ValueError:
            continue
    return column
