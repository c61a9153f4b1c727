"""Real outcomes in files and back."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from wmrl_gym.executors import OutcomeStore
from wmrl_gym.interchange.outcomes import (
    OutcomeRecord,
    OutcomeWriter,
    read_outcomes,
    shipped_outcomes,
)
from wmrl_gym.outcomes import Execution, Outcome, Source, Status


def record(number: int = 0, *, score: float | None = 0.5, group: int = 0) -> OutcomeRecord:
    status = Status.COMPLETED if score is not None else Status.UNSCORED
    return OutcomeRecord(
        execution=Execution(
            task="toy",
            artifact=f"print('é', {number})",
            task_version="1",
            timeout_s=3.0,
            features={"task/rows": 2.0},
            context="a state",
        ),
        outcome=Outcome(status, score, "fine", 0.1, details={"metric": 0.9}),
        group=group,
        origin="plain",
    )


def write(path: Path, *records: OutcomeRecord) -> Path:
    with OutcomeWriter(path, {"seed": 3}) as writer:
        writer.write(records)
    return path


@pytest.mark.parametrize("name", ["outcomes.jsonl", "outcomes.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    records = (record(0), record(1, score=None, group=4))
    found = read_outcomes(write(tmp_path / "made" / name, *records))
    assert found.records == records
    assert found.provenance == {"seed": 3}
    assert found.incomplete == ()
    assert found.bounds == (0.0, 1.0)


def test_equal_outcomes_make_equal_compressed_files(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl.gz", record())
    second = write(tmp_path / "b.jsonl.gz", record())
    assert first.read_bytes() == second.read_bytes()


def test_score_bounds_come_from_the_header(tmp_path: Path) -> None:
    with OutcomeWriter(tmp_path / "o.jsonl", {"score_bounds": [-1, 2]}) as writer:
        writer.write([record()])
    assert read_outcomes(tmp_path / "o.jsonl").bounds == (-1.0, 2.0)


def test_incomplete_lines_are_passed_over_and_named(tmp_path: Path) -> None:
    path = write(tmp_path / "o.jsonl", record(0), record(1), record(2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + lines[2][:50] + b"\n" + lines[3] + lines[1][:70])
    found = read_outcomes(path)
    assert found.records == (record(0), record(2))
    assert found.incomplete == (3, 5)


def test_an_archive_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl.gz"
    writer = OutcomeWriter(path, {})
    writer.write([record(0)])
    writer.write([record(1)])
    killed = path.read_bytes()  # a writer that was killed has closed nothing
    writer.close()
    path.write_bytes(killed)
    found = read_outcomes(path)
    assert found.records == (record(0), record(1))
    assert found.incomplete == (4,)
    path.write_bytes(killed[:-5])
    assert read_outcomes(path).incomplete


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "o.jsonl", record())
    with pytest.raises(ValueError, match="cannot be made"):
        OutcomeWriter(path, {})
    assert len(read_outcomes(path).records) == 1


def broken(**changes: object) -> bytes:
    fields = {
        "schema": "wmrl-gym/outcome/1",
        "group": 0,
        "execution": {"task": "toy", "artifact": "", "features": {}},
        "outcome": {"status": 6, "source": 1, "score": 0.5, "details": {}},
        **changes,
    }
    return json.dumps({k: v for k, v in fields.items() if v is not None}).encode() + b"\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"a,b\n1,\n", "none of its lines is JSON"),
        (b'{"schema": "else/1"}\n', ":1: schema='else/1' is not 'wmrl-gym/outcome/1'"),
        (b"[1]\n", ":1: schema=None"),
        (broken() + broken(group=None), ":2: it lacks or garbles a field .*'group'"),
        (broken(outcome={"status": 99, "source": 1, "score": 1, "details": {}}), ":1: .*99"),
        (broken(outcome={"status": 6, "source": 1, "score": "x", "details": {}}), ":1: .*'x'"),
        (broken(execution={"task": "toy", "features": {}}), ":1: .*artifact"),
        (broken(outcome={"status": 6, "source": 2, "score": 1, "details": {}}), "not a real exec"),
    ],
)
def test_what_is_no_set_of_outcomes_says_where_and_why(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_outcomes(path)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=said):
        read_outcomes(path)


def test_numbers_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(broken(execution={"task": "t", "artifact": "", "features": {"a": None}}))
    [read] = read_outcomes(path).records
    assert read.execution.features == {}


def test_there_has_to_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no file"):
        read_outcomes(tmp_path / "none.jsonl")
    with pytest.raises(
        ValueError, match=r"not the directory of a run: it has no executions\.sqlite"
    ):
        read_outcomes(tmp_path)


def test_a_store_is_read_in_groups_of_the_same_state(tmp_path: Path) -> None:
    store = OutcomeStore(tmp_path / "executions.sqlite")
    for number in range(10):
        store.put(Execution("toy", f"x = {number}", context="s"), Outcome(Status.COMPLETED, 0.5))
    store.put(Execution("toy", "x = 10", context="later"), Outcome(Status.CRASHED, 0.1))
    # Read while a run still has it open.
    for path in (tmp_path, tmp_path / "executions.sqlite"):
        records = read_outcomes(path).records
        assert len(records) == 11
        sizes: dict[int, int] = {}
        for read in records:
            sizes[read.group] = sizes.get(read.group, 0) + 1
        assert sorted(sizes.values()) == [1, 2, 8]
        assert all(read.outcome.source is Source.REAL for read in records)
    store.close()


def test_a_foreign_or_empty_data_base_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "executions.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be read as a store"):
        read_outcomes(tmp_path)
    assert path.read_bytes() == before
    OutcomeStore(tmp_path / "empty.sqlite").close()
    with pytest.raises(ValueError, match="nothing has been executed yet"):
        read_outcomes(tmp_path / "empty.sqlite")


def test_the_shipped_outcomes_are_real_varied_and_say_where_they_come_from() -> None:
    shipped = shipped_outcomes()
    assert 400 <= len(shipped.records) <= 600
    assert shipped.incomplete == ()
    assert len({r.execution.task for r in shipped.records}) >= 20
    statuses = {r.outcome.status for r in shipped.records}
    assert statuses == set(Status) - {Status.UNSCORED}
    assert {r.outcome.source for r in shipped.records} == {Source.REAL}
    # No script occurs twice in a group, and all of a group started from the same state.
    assert len({(r.group, r.execution.key) for r in shipped.records}) == len(shipped.records)
    states = {(r.group, r.execution.task, r.execution.context) for r in shipped.records}
    assert len(states) == len({r.group for r in shipped.records})
    assert shipped.provenance["versions"]["scikit-learn"]
    assert isinstance(shipped.provenance["seed"], int)
