"""What grading gives: the metric on the parts of the hidden rows."""

from __future__ import annotations

from dataclasses import dataclass


class InvalidSubmissionError(ValueError):
    """A submission breaks the rules of its task; the message says how."""


@dataclass(frozen=True)
class Values:
    """The metric, in its own unit and direction."""

    private: float
    """On the rows that decide the score, of which the agent never sees a result."""
    public: float | None
    """On the rows whose result the agent is shown; `None` if there are none."""
    all: float
    """On all hidden rows: what a benchmark reports."""
