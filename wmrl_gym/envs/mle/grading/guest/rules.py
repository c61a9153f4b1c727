"""What a submission of predictions for the rows of a table has to look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TableRules:
    """The rules of one task."""

    metric: str
    """A key of `METRICS`."""
    id_column: str
    targets: tuple[str, ...]
    """`[T]` columns of the answers."""
    columns: tuple[str, ...]
    """Columns of a submission, the id first."""
    classes: tuple[str, ...] = ()
    """`[K]` labels of a classification; the last of two is the positive class."""

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TableRules:
        """The rules of which `dataclasses.asdict` went through JSON."""
        values: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()
        }
        return cls(**values)
