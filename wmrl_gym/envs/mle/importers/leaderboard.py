"""Leaderboards of competitions, and the direction that their order gives away."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wmrl_gym.envs.mle.importers.lfs import is_pointer, mend

_SCORE = "score"


@dataclass(frozen=True)
class Leaderboard:
    """The scores of a leaderboard, best first as in its file."""

    scores: Sequence[float] = ()
    note: str = ""
    """Why there are no scores, if there are none."""

    @property
    def higher_is_better(self) -> bool | None:
        """Direction of the metric; `None` if all scores are the same, or there are none."""
        if not self.scores or self.scores[0] == self.scores[-1]:
            return None
        return self.scores[0] > self.scores[-1]


def read_leaderboard(path: Path | None) -> Leaderboard:
    """Read the column `score` of a leaderboard.

    A leaderboard that is missing or cannot be read makes a task without medals, not a task
    that cannot be used.
    """
    if path is None or not path.is_file():
        return Leaderboard(note="no leaderboard, hence no medals")
    if is_pointer(path):
        return Leaderboard(note=f"no medals: {path} is a pointer of Git LFS; {mend(path)}")
    try:
        scores = _scores(path)
    except (OSError, ValueError, KeyError, csv.Error) as error:
        return Leaderboard(note=f"no medals: {path} has no readable column {_SCORE!r} ({error})")
    return Leaderboard(scores, "" if scores else f"no medals: {path} has no scores")


def _scores(path: Path) -> list[float]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = {name.strip().lower(): name for name in rows.fieldnames or ()}
        column = names[_SCORE]
        scores = [float(row[column]) for row in rows if (row[column] or "").strip()]
    return [score for score in scores if math.isfinite(score)]
