"""What a run's directory says, read so that a torn or missing file is named, not fatal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import RunError
from wmrl_gym.executors.episode_log import FILE, EpisodeRow, read_rows


@dataclass(frozen=True)
class RunData:
    """One run, as its report shows it."""

    path: Path
    name: str
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    metrics: Sequence[Mapping[str, float]]
    """One entry for each batch, in order."""
    episodes: Sequence[EpisodeRow]
    """Finished episodes in the order in which they ended; empty for a run without a record."""
    result: Mapping[str, Any]
    """The final evaluation by real executions; empty if there was none yet."""
    notes: Sequence[str]
    """What was missing or torn."""

    def series(self, name: str) -> NDArray[np.float64]:
        """`[batches]` one metric over the run; NaN where it was not recorded."""
        values = [entry.get(name) for entry in self.metrics]
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)

    @property
    def last(self) -> Mapping[str, float]:
        """The metrics after the last batch."""
        return self.metrics[-1] if self.metrics else {}

    @property
    def pairs(self) -> list[EpisodeRow]:
        """Episodes that were both predicted and executed."""
        return [row for row in self.episodes if not np.isnan(row.predicted + row.true)]


def read_run(path: Path) -> RunData:
    """Read the directory of a run, finished or not.

    Raises:
        RunError: If it is not the directory of a run, or nothing has been trained in it yet.
    """
    if not (path / "config.json").is_file():
        raise RunError(f"run={path} is not the directory of a run: it has no config.json")
    notes: list[str] = []
    metrics = _lines(path / "metrics.jsonl", notes)
    if not metrics:
        raise RunError(f"run={path} has no finished batch yet: its metrics.jsonl has no whole line")
    return RunData(
        path=path,
        name=path.name,
        config=_object(path / "config.json", notes),
        versions=_object(path / "versions.json", notes),
        metrics=metrics,
        episodes=_episodes(path / FILE, notes),
        result=_object(path / "result.json", notes, absent="the final evaluation was not made yet"),
        notes=notes,
    )


def _object(file: Path, notes: list[str], *, absent: str = "") -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        notes.append(f"{file.name} is missing{absent and ': '}{absent}.")
        return {}
    except ValueError:
        notes.append(f"{file.name} is torn or no JSON, and was left out.")
        return {}
    if not isinstance(value, dict):
        notes.append(f"{file.name} holds no object, and was left out.")
        return {}
    return value


def _lines(file: Path, notes: list[str]) -> list[dict[str, float]]:
    if not file.is_file():
        return []
    entries = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
            entries.append({k: v for k, v in entry.items() if isinstance(v, int | float)})
        except (ValueError, AttributeError):
            notes.append(f"{file.name} line {number} is torn, and was left out.")
    return entries


def _episodes(file: Path, notes: list[str]) -> list[EpisodeRow]:
    if not file.is_file():
        notes.append(f"{file.name} is missing: the run recorded no episodes.")
        return []
    rows = []
    try:
        for row in read_rows(file):
            rows.append(row)
    except ValueError as error:
        notes.append(f"Episodes were read up to a bad line: {error}.")
    return rows
