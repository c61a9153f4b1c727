"""Who learns what and is measured on what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from wmrl_gym.benchmark.folds import HELD_OUT, SEEN, deal, fewer_groups, limits
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Execution, Outcome, Status


def records(tasks: int, groups: int, size: int = 2) -> list[OutcomeRecord]:
    return [
        OutcomeRecord(
            Execution(f"task-{task}", f"{group} {member}"), Outcome(Status.COMPLETED, 0.5), group
        )
        for task in range(tasks)
        for group in range(groups)
        for member in range(size)
    ]


@pytest.mark.parametrize(("tasks", "groups", "count"), [(6, 3, 4), (2, 2, 3), (5, 7, 5)])
def test_every_group_is_measured_once_in_each_way_and_never_learned_there(
    tasks: int, groups: int, count: int
) -> None:
    given = records(tasks, groups)
    folds = deal(given, count)
    for regime in (SEEN, HELD_OUT):
        tested = Counter(place for fold in folds for place in fold.tests[regime])
        assert tested == Counter(range(len(given)))
    for fold in folds:
        learned = {(given[place].execution.task, given[place].group) for place in fold.train}
        known = {task for task, _ in learned}
        for place in fold.tests[HELD_OUT]:
            assert given[place].execution.task not in known
        for place in fold.tests[SEEN]:
            assert given[place].execution.task in known
            assert (given[place].execution.task, given[place].group) not in learned


def test_what_is_measured_is_learned_from_no_other_group_either() -> None:
    given = records(4, 3)
    given += [replace(record, group=3) for record in given if record.group == 0]
    for fold in deal(given, 4):
        tested = {given[p].execution.key for places in fold.tests.values() for p in places}
        assert not tested & {given[p].execution.key for p in fold.train}


def test_one_task_only() -> None:
    given = records(1, 4)
    folds = deal(given, 4)
    assert not any(fold.tests[HELD_OUT] for fold in folds)
    assert sum(len(fold.tests[SEEN]) for fold in folds) == len(given)
    assert any("one task only" in note for note in limits(given, folds))


def test_tasks_of_one_group_are_measured_as_held_out_only() -> None:
    given = records(4, 1, size=1)
    folds = deal(given, 4)
    assert not any(fold.tests[SEEN] for fold in folds)
    assert sum(len(fold.tests[HELD_OUT]) for fold in folds) == len(given)
    said = " ".join(limits(given, folds))
    assert "4 of 4 tasks have one group" in said
    assert "all groups have one member" in said
    assert "nothing can be said about new groups of seen tasks" in said


def test_one_group_is_nothing_to_measure_on() -> None:
    with pytest.raises(ValueError, match="all outcomes are of one group"):
        deal(records(1, 1, size=8), 4)


def test_fewer_groups_keeps_whole_tasks() -> None:
    given = records(6, 3)
    kept = fewer_groups(given, 7)
    assert {r.group for r in kept} == {0, 1, 2}
    assert len({r.execution.task for r in kept}) == 2
    assert kept == fewer_groups(given, 7)
    with pytest.raises(ValueError, match="most_groups=2 is too few: a task has 3 or more"):
        fewer_groups(given, 2)
