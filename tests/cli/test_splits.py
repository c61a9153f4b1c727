"""What is learned and what is held out."""

from __future__ import annotations

import pytest

from wmrl_gym.cli.splits import GROUPS, TASKS, TRAIN, VALIDATION, SplitSettings, fewer, split
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Execution, Outcome, Status


def records(tasks: int = 5, groups: int = 4, size: int = 3) -> list[OutcomeRecord]:
    return [
        OutcomeRecord(
            Execution(f"t{task}", f"x = {task, group, member}"),
            Outcome(Status.COMPLETED, 0.5),
            group=group * tasks + task,
        )
        for group in range(groups)
        for task in range(tasks)
        for member in range(size)
    ]


def groups_of(part: list[OutcomeRecord]) -> set[tuple[str, int]]:
    return {(record.execution.task, record.group) for record in part}


def test_nothing_is_in_two_parts_and_groups_stay_whole() -> None:
    given = records()
    parts = split(given, SplitSettings(held_out_share=0.25, validation_share=0.25))
    assert sum(map(len, parts.values())) == len(given)
    assert [len(parts[name]) for name in (TRAIN, VALIDATION, GROUPS, TASKS)] == [27, 9, 12, 12]
    owners = [groups_of(part) for part in parts.values()]
    assert sum(map(len, owners)) == len(set.union(*owners))
    held = {record.execution.task for record in parts[TASKS]}
    assert len(held) == 1
    assert all(record.execution.task not in held for record in parts[TRAIN] + parts[GROUPS])


def test_tasks_are_held_out_by_name() -> None:
    parts = split(records(), SplitSettings(held_out=("t3", "t1")))
    assert {record.execution.task for record in parts[TASKS]} == {"t1", "t3"}
    with pytest.raises(ValueError, match=r"held_out=\['nothing'\]"):
        split(records(), SplitSettings(held_out=("t1", "nothing")))


def test_the_seed_draws() -> None:
    def learned(seed: int) -> set[tuple[str, int]]:
        return groups_of(split(records(), SplitSettings(split_seed=seed))[TRAIN])

    assert learned(1) == learned(1)
    assert any(learned(1) != learned(seed) for seed in range(2, 6))


def test_nothing_is_held_out_unless_one_wants_it() -> None:
    parts = split(records(), SplitSettings(held_out_share=0.0, validation_share=0.0))
    assert len(parts[TRAIN]) == len(records())


def test_a_single_task_is_learned() -> None:
    parts = split(records(tasks=1), SplitSettings())
    assert not parts[TASKS]
    assert parts[TRAIN]
    assert parts[GROUPS]


def test_outcomes_without_a_score_are_left_out() -> None:
    lost = OutcomeRecord(Execution("t0", "x"), Outcome.unscored("we failed"), group=0)
    parts = split([*records(), lost], SplitSettings())
    assert sum(map(len, parts.values())) == len(records())
    with pytest.raises(ValueError, match="nothing is left to learn of 0 outcomes"):
        split([lost], SplitSettings())


def test_all_tasks_held_out_leave_nothing() -> None:
    with pytest.raises(ValueError, match="hold out less"):
        split(records(tasks=2), SplitSettings(held_out=("t0", "t1")))


def test_fewer_groups_are_whole() -> None:
    some = fewer(records(), 3, seed=0)
    assert len(groups_of(some)) == 3
    assert len(some) == 9
    assert fewer(records(), 100, seed=0) == records()


@pytest.mark.parametrize("name", ["held_out_share", "validation_share"])
def test_wrong_arguments(name: str) -> None:
    for value in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"{name}={value}"):
            SplitSettings(**{name: value})
