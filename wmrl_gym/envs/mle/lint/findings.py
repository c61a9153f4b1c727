"""What the lint says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Answers can be read off; scores on this task mean nothing."""
    WARNING = "warning"
    """Something about the answers can be read off; look at it."""
    NOTE = "note"
    """Worth knowing; no answer is known to be at risk."""


@dataclass(frozen=True)
class Finding:
    """One thing that the lint found."""

    rule: str
    """Name of the rule, for instance `"id-order"`."""
    severity: Severity
    message: str
    """What is wrong, with the columns, the rows or the files concerned."""

    def __str__(self) -> str:
        return f"{self.severity}: {self.message} [{self.rule}]"


def few(items: Sequence[str], count: int = 8) -> str:
    """The first items, and how many more there are."""
    shown = ", ".join(repr(item) for item in items[:count])
    return shown if len(items) <= count else f"{shown} and {len(items) - count} more"
