from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from wmrl_gym import Execution, Outcome, Source, Status
from wmrl_gym.executors import OutcomeStore

EXECUTION = Execution("wine", "print(1)", timeout_s=3.0, features={"a": 1.5}, context="x", slot=4)
OUTCOME = Outcome(Status.COMPLETED, 0.75, "fine", 1.25, details={"metric": 0.9})


def test_what_was_put_comes_back_also_after_reopening(tmp_path: Path) -> None:
    store = OutcomeStore(tmp_path / "new" / "outcomes.sqlite")
    assert store.get(EXECUTION) is None
    store.put(EXECUTION, OUTCOME)
    assert store.get(EXECUTION) == OUTCOME
    store.close()
    store.close()
    again = OutcomeStore(tmp_path / "new" / "outcomes.sqlite")
    assert again.get(EXECUTION) == OUTCOME
    assert list(again) == [(EXECUTION, OUTCOME)]
    assert len(again) == 1
    again.close()


def test_the_key_is_what_decides_the_outcome() -> None:
    same = Execution("wine", "print(1)", timeout_s=3, features={}, context="other", slot=0)
    assert same.key == EXECUTION.key
    for change in ({"task": "b"}, {"artifact": "2"}, {"timeout_s": 4.0}, {"task_version": "2"}):
        fields = {"task": "wine", "artifact": "print(1)", "timeout_s": 3.0, **change}
        assert Execution(**fields).key != EXECUTION.key


def test_the_first_outcome_of_a_key_stays(tmp_path: Path) -> None:
    store = OutcomeStore(tmp_path / "outcomes.sqlite")
    store.put(EXECUTION, OUTCOME)
    store.put(EXECUTION, Outcome(Status.CRASHED, 0.1))
    assert store.get(EXECUTION) == OUTCOME
    store.close()


@pytest.mark.parametrize(
    "outcome", [Outcome.unscored("x"), Outcome(Status.COMPLETED, 0.5, source=Source.PREDICTED)]
)
def test_only_facts_are_stored(tmp_path: Path, outcome: Outcome) -> None:
    store = OutcomeStore(tmp_path / "outcomes.sqlite")
    with pytest.raises(ValueError, match="not a real outcome with a score"):
        store.put(EXECUTION, outcome)
    store.close()


def test_a_store_travels_as_a_path(tmp_path: Path) -> None:
    store = OutcomeStore(tmp_path / "outcomes.sqlite")
    store.put(EXECUTION, OUTCOME)
    twin = pickle.loads(pickle.dumps(store))
    assert twin.get(EXECUTION) == OUTCOME
    twin.close()
    store.close()
