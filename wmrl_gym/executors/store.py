"""A content-addressed store of real outcomes, so that no execution is paid for twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from wmrl_gym.outcomes import Execution, Outcome, Source, Status

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    key TEXT PRIMARY KEY,
    execution TEXT NOT NULL,
    outcome TEXT NOT NULL,
    created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID
"""


class OutcomeStore:
    """Real outcomes by `Execution.key`, in one SQLite file that several processes may share.

    Args:
        path: The file; made with its directory if it does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            self.path, timeout=60.0, check_same_thread=False, isolation_level=None
        )
        # Readers in other processes must not block the run that writes.
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(_SCHEMA)

    def get(self, execution: Execution) -> Outcome | None:
        """The outcome of an equal execution, or `None`."""
        with self._lock:
            row = self._connection.execute(
                "SELECT outcome FROM outcomes WHERE key = ?", (execution.key,)
            ).fetchone()
        return None if row is None else _outcome_from_json(row[0])

    def put(self, execution: Execution, outcome: Outcome) -> None:
        """Keep `outcome`; the first one of a key stays.

        Raises:
            ValueError: If `outcome` is predicted or has no score: neither is a fact.
        """
        if outcome.source is not Source.REAL or outcome.score is None:
            raise ValueError(f"outcome={outcome!r} is not a real outcome with a score")
        row = (execution.key, json.dumps(asdict(execution)), json.dumps(asdict(outcome)))
        with self._lock:
            self._connection.execute(
                "INSERT OR IGNORE INTO outcomes (key, execution, outcome) VALUES (?, ?, ?)", row
            )

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0])

    def __iter__(self) -> Iterator[tuple[Execution, Outcome]]:
        """All (execution, outcome) pairs, in the order of their keys."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT execution, outcome FROM outcomes ORDER BY key"
            ).fetchall()
        for execution, outcome in rows:
            yield Execution(**json.loads(execution)), _outcome_from_json(outcome)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    def __reduce__(self) -> tuple[type[OutcomeStore], tuple[Path]]:
        """Travel to another process as a path: a connection cannot."""
        return OutcomeStore, (self.path,)


def stored_outcomes(path: str | Path) -> Iterator[tuple[Execution, Outcome]]:
    """The (execution, outcome) pairs of a store, the oldest first; the file stays as it is.

    Raises:
        ValueError: If the file is no such store.
    """
    address = f"{Path(path).resolve().as_uri()}?mode=ro"
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(address, uri=True, timeout=60.0)
        rows = connection.execute(
            "SELECT execution, outcome FROM outcomes ORDER BY created, key"
        ).fetchall()
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be read as a store of outcomes: {error}") from error
    finally:
        if connection is not None:
            connection.close()
    for execution, outcome in rows:
        yield Execution(**json.loads(execution)), _outcome_from_json(outcome)


def _outcome_from_json(text: str) -> Outcome:
    fields = json.loads(text)
    fields["status"] = Status(fields["status"])
    fields["source"] = Source(fields["source"])
    return Outcome(**fields)
