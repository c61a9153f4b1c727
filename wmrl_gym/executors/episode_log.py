"""A line for every finished episode of a run: what its report lists and draws.

JSON Lines, opened for appending at every batch of lines, so that a killed run loses none that
was written; a torn last line is passed over by the reader.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

FILE = "episodes.jsonl"
"""Its name in the directory of a run."""


@dataclass(frozen=True)
class EpisodeRow:
    """One finished episode."""

    group: int
    task: str
    anchor: bool
    """Whether its group was drawn to be executed for real."""
    real: bool
    """Whether it was: an anchor, or a task that the world model could not predict yet."""
    predicted: float
    """Raw score of the world model; NaN if it was not asked, or did not answer."""
    calibrated: float
    """The same, recast by the map of the group's version; NaN as above."""
    true: float
    """Score of the real execution; NaN if there was none."""
    weight: float
    """What it counts in the loss, before normalisation."""
    version: int
    """Version of the map and the weight it was scored with."""
    seconds: float
    """Wall-clock duration of its (predicted) executions."""
    valid: bool
    """Whether every execution has a score."""
    status: int
    """`Status` of its last execution."""
    artifact: str
    """What the agent made last: a script, say."""
    feedback: str
    """What the agent was shown last."""
    video: str = ""
    """Path of a video, relative to the run's directory; empty if there is none."""

    @property
    def score(self) -> float:
        """The score that it was trained on: true if it was executed, else calibrated."""
        return self.true if self.real else self.calibrated


def append_rows(path: str | os.PathLike[str], rows: Iterable[EpisodeRow]) -> None:
    """Append rows to a file, which is made if it does not exist."""
    lines = "".join(json.dumps(_finite(row)) + "\n" for row in rows)
    with open(path, "a", encoding="utf-8") as file:
        file.write(lines)


def read_rows(path: str | os.PathLike[str]) -> Iterator[EpisodeRow]:
    """Read the rows back; a torn last line is passed over.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a whole line is no episode; it names the line.
    """
    known = {field.name for field in fields(EpisodeRow)}
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            values = json.loads(line)
            yield EpisodeRow(**{k: _number(k, v) for k, v in values.items() if k in known})
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{os.fspath(path)}:{number} is no episode: {error}") from error


_SCORES = ("predicted", "calibrated", "true")


def _finite(row: EpisodeRow) -> dict[str, object]:
    """NaN is no JSON: it becomes null."""
    values = asdict(row)
    return values | {name: None for name in _SCORES if math.isnan(values[name])}


def _number(name: str, value: Any) -> Any:
    return math.nan if name in _SCORES and value is None else value
