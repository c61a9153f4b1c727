"""What a model has said, kept as soon as it is said: no answer is paid for twice."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from wmrl_gym.interchange.trajectories import append_line, check_appendable


@dataclass(frozen=True, order=True)
class Attempt:
    """One episode of an evaluation."""

    task: str
    number: int
    """From 1 on."""

    def __str__(self) -> str:
        return f"{self.task} #{self.number}"


@dataclass(frozen=True)
class Said:
    """One answer of a model."""

    text: str
    tokens: int = 0
    """0 if it is not known."""
    seconds: float = 0.0
    """Wall-clock seconds of the call that brought it, shared among the answers of that call."""


class Journal:
    """Answers by attempt and turn, in one file of JSON Lines.

    A line that a killed process has torn is passed over; that answer is asked for again.

    Args:
        path: The file; made with its directory if it does not exist.

    Raises:
        ValueError: If nothing can be appended there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check_appendable(path)
        self.path = Path(path)
        self._said: dict[tuple[Attempt, int], Said] = {}
        for line in self.path.read_bytes().splitlines():
            self._read(line)

    def get(self, attempt: Attempt, turn: int) -> Said | None:
        """The answer of a turn, from 0 on; `None` if it has not been given."""
        return self._said.get((attempt, turn))

    def put(self, attempt: Attempt, turn: int, said: Said) -> None:
        """Keep an answer."""
        append_line(self.path, {**asdict(attempt), "turn": turn, **asdict(said)})
        self._said[attempt, turn] = said

    def _read(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
        except ValueError:
            return
        where = Attempt(fields.pop("task"), fields.pop("number")), fields.pop("turn")
        self._said[where] = Said(**fields)
