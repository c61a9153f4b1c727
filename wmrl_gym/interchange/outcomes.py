"""Real executions and what came of them, as a file: what world models are fitted to and judged by.

One line of JSON is one outcome: what was executed, the group that it belongs to, and how it
ended. A first line may say where the others come from. A name that ends in `.gz` is compressed.
A process that is killed while it writes leaves an incomplete last line, which the reader passes
over and names.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from wmrl_gym.interchange.json_values import from_json_value, json_line, to_json_value
from wmrl_gym.outcomes import Execution, Outcome, Source, Status

SCHEMA = "wmrl-gym/outcome/1"
"""First field of every outcome. Its number changes when a reader of the old one would err."""
HEADER = "wmrl-gym/outcomes/1"
"""First field of the line that says where the outcomes come from."""
STORE = "executions.sqlite"
"""The store of real outcomes in the directory of a run."""
STORE_GROUP_SIZE = 8
"""Outcomes of a store that are taken for one group; see `read_outcomes`."""


@dataclass(frozen=True)
class OutcomeRecord:
    """A real execution, its group and its outcome."""

    execution: Execution
    outcome: Outcome
    group: int
    """Executions of one task with the same number start from the same state."""
    origin: str = ""
    """How the artifact was made, for instance `pipeline` or `crash/path`; no model sees it."""


@dataclass(frozen=True)
class OutcomeSet:
    """Outcomes and where they come from."""

    records: tuple[OutcomeRecord, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What the file says of itself: versions, seed, command. May be empty."""
    incomplete: tuple[int, ...] = ()
    """Numbers of the lines, from 1, that were passed over because they are incomplete."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest score."""
        low, high = self.provenance.get("score_bounds", (0.0, 1.0))
        return float(low), float(high)


def read_outcomes(path: str | Path) -> OutcomeSet:
    """Read outcomes from whatever keeps them.

    A store knows no groups: executions of the same task from the same state are put into groups
    of `STORE_GROUP_SIZE` in the order in which they were made, so that those of one stage of a
    training run stay together.

    Args:
        path: A file of `OutcomeWriter`, a store of real outcomes (SQLite), or the directory of
            a run with its store.

    Raises:
        ValueError: If there is nothing there, or it holds something else. Of a line that says
            the wrong thing, the message names the number.
    """
    path = Path(path)
    if path.is_dir():
        path = path / STORE
        if not path.exists():
            raise ValueError(f"{path.parent} is not the directory of a run: it has no {STORE}")
    if not path.is_file():
        raise ValueError(f"path={str(path)!r} is no file: nothing can be read from it")
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        return _from_store(path)
    return _from_lines(path, compressed=start.startswith(b"\x1f\x8b"))


def shipped_outcomes() -> OutcomeSet:
    """The outcomes that come with the package: real scripts over built-in tasks.

    `wmrl_gym/world_models/data/README.md` says how they were made.
    """
    data = files("wmrl_gym").joinpath("world_models", "data", "outcomes.jsonl.gz")
    with as_file(data) as path:
        return read_outcomes(path)


class OutcomeWriter:
    """Writes outcomes to a new file; a context manager.

    Args:
        path: The file, with its directory if need be.
        provenance: Where the outcomes come from, as JSON. `score_bounds`, two numbers, are
            those of the environment where they are not 0 and 1.

    Raises:
        ValueError: If the file exists, or cannot be made.
    """

    def __init__(self, path: str | Path, provenance: Mapping[str, Any]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._raw = self.path.open("xb")
        except OSError as error:
            raise ValueError(f"path={str(path)!r} cannot be made: {error}") from error
        self._file: IO[bytes] = self._raw
        if self.path.suffix == ".gz":
            # No name and no time: equal outcomes make equal files.
            archive = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)
            self._file = cast(IO[bytes], archive)
        self._put({"schema": HEADER, "provenance": provenance})

    def write(self, records: Iterable[OutcomeRecord]) -> None:
        """Add outcomes; they are in the file when this returns."""
        for record in records:
            self._put(
                {
                    "schema": SCHEMA,
                    "group": record.group,
                    "origin": record.origin,
                    "execution": asdict(record.execution),
                    "outcome": asdict(record.outcome),
                }
            )
        self._file.flush()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._file.close()
        self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _put(self, fields: Mapping[str, Any]) -> None:
        self._file.write(json_line(to_json_value(fields)))


def _from_store(path: Path) -> OutcomeSet:
    from wmrl_gym.executors.store import stored_outcomes

    records = []
    seen: Counter[tuple[str, ...]] = Counter()
    groups: dict[tuple[tuple[str, ...], int], int] = {}
    for execution, outcome in stored_outcomes(path):
        start = (execution.task, execution.task_version, execution.context)
        group = groups.setdefault((start, seen[start] // STORE_GROUP_SIZE), len(groups))
        seen[start] += 1
        records.append(OutcomeRecord(execution, outcome, group))
    if not records:
        raise ValueError(f"{path} holds no outcomes: nothing has been executed yet")
    return OutcomeSet(tuple(records), {"store": path.name, "group_size": STORE_GROUP_SIZE})


def _from_lines(path: Path, *, compressed: bool) -> OutcomeSet:
    records: list[OutcomeRecord] = []
    provenance: dict[str, Any] = {}
    incomplete: list[int] = []
    for number, line in enumerate(_lines(path, compressed), start=1):
        fields = _whole(line)
        if fields is None:
            incomplete.append(number)
        elif isinstance(fields, dict) and fields.get("schema") == HEADER:
            provenance = provenance or from_json_value(fields.get("provenance", {}))
        else:
            records.append(_record(fields, f"{path}:{number}"))
    if not records:
        what = "none of its lines is JSON" if incomplete else "it is empty"
        raise ValueError(f"{path} holds no outcomes: {what}; `wmrl-gym collect` makes such files")
    return OutcomeSet(tuple(records), provenance, tuple(incomplete))


def _lines(path: Path, compressed: bool) -> Iterator[bytes]:
    """The lines; what breaks off ends with one that is no JSON."""
    with gzip.open(path, "rb") if compressed else path.open("rb") as lines:
        try:
            yield from (line for line in lines)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield b"(cut off)"


def _whole(line: bytes) -> Any:
    """What a line says; `None` for one that is incomplete."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _record(fields: Any, where: str) -> OutcomeRecord:
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"{where}: schema={schema!r} is not {SCHEMA!r}, which this version reads")
    try:
        record = OutcomeRecord(
            execution=Execution(**_known_numbers(fields["execution"], "features")),
            outcome=_outcome(_known_numbers(fields["outcome"], "details")),
            group=int(fields["group"]),
            origin=str(fields.get("origin", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: it lacks or garbles a field of {SCHEMA}: {error}") from error
    if record.outcome.source is not Source.REAL:
        raise ValueError(f"{where}: source={record.outcome.source!r} is not a real execution")
    return record


def _outcome(fields: Mapping[str, Any]) -> Outcome:
    status, source = Status(fields["status"]), Source(fields["source"])
    outcome = Outcome(**{**fields, "status": status, "source": source})
    if outcome.score is not None:
        float(outcome.score)  # raises here, where the line is known
    return outcome


def _known_numbers(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`fields` without the entries of `name` that were not finite."""
    numbers = {key: value for key, value in fields[name].items() if value is not None}
    return {**fields, name: numbers}
