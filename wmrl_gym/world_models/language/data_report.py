"""A report on the data of a task, for a model that cannot look at them.

It says what decides whether a script works and how well: how many rows, which columns are
text or have gaps, what the target is and how it is distributed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmrl_gym.world_models.language.sanitise import plain_text

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS, _MOST_COLUMNS, _MOST_CLASSES, _MOST_KINDS = 20_000, 30, 10, 10
_MOST_BYTES = 2**28
_LONGEST_NAME = 60


def data_report(public: Path) -> str:
    """Describe the public files of a task.

    Args:
        public: The directory that solutions read.

    Returns:
        Text, the most telling lines first; bounded, whatever the size of the data.
    """
    lines = list(_file_lines(public))
    train = public / "train.csv"
    if train.is_file() and train.stat().st_size <= _MOST_BYTES:
        lines += _table_lines(train, public / "test.csv")
    return plain_text("\n".join(lines))


def _file_lines(public: Path) -> Iterator[str]:
    files = [path for path in public.rglob("*") if path.is_file()]
    kinds = Counter(path.suffix or "no suffix" for path in files)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_KINDS))
    yield f"Files: {counts}; {sum(path.stat().st_size for path in files) / 1e6:.1f} MB."


def _table_lines(train: Path, test: Path) -> Iterator[str]:
    import pandas as pd

    try:
        table = pd.read_csv(train, nrows=_MOST_ROWS)
        tested = list(pd.read_csv(test, nrows=1).columns) if test.is_file() else None
    except (ValueError, UnicodeDecodeError) as error:
        yield f"train.csv cannot be read as a table: {type(error).__name__}."
        return
    more = " or more" if len(table) == _MOST_ROWS else ""
    numeric = table.select_dtypes("number").shape[1]
    yield (
        f"train.csv: {len(table)}{more} rows, {table.shape[1]} columns, {numeric} of them numeric; "
        f"{table.isna().to_numpy().mean():.1%} of the cells are missing."
    )
    targets = [] if tested is None else [name for name in table if name not in tested]
    yield from (f"Target {_line(table[name], target=True)}" for name in targets)
    others = [name for name in table if name not in targets]
    yield from (f"- {_line(table[name])}" for name in others[:_MOST_COLUMNS])
    if len(others) > _MOST_COLUMNS:
        yield f"- and {len(others) - _MOST_COLUMNS} more columns"


def _line(column: pd.Series[Any], *, target: bool = False) -> str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    distinct = column.nunique()
    numeric = is_numeric_dtype(column) and not is_bool_dtype(column)
    missing = f", {column.isna().mean():.1%} missing" if column.isna().any() else ""
    few = distinct <= _MOST_CLASSES
    if distinct and ((target and few) or not numeric):
        said = _shares(column)
    elif distinct:
        numbers = column.astype("float64")
        low, middle, high = (numbers.quantile(share) for share in (0.0, 0.5, 1.0))
        said = f"{low:.4g} to {high:.4g}, median {middle:.4g}, mean {numbers.mean():.4g}"
    else:
        said = "empty"
    return f"{_short(column.name)}: {column.dtype}, {distinct} values{missing}; {said}"


def _shares(column: pd.Series[Any]) -> str:
    shares = column.value_counts(normalize=True).head(_MOST_CLASSES // 2)
    return ", ".join(f"{_short(value)} {share:.0%}" for value, share in shares.items())


def _short(value: Any) -> str:
    return str(value)[:_LONGEST_NAME]
