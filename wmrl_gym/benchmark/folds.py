"""Which outcomes a world model learns from, and which it is measured on.

A task is held out in one fold: nothing of it is learned there. In the other folds its groups
take turns at being measured on, while others of them are learned. So every group is predicted
twice, once as one of a seen task and once as one of a held-out task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_gym.interchange.outcomes import OutcomeRecord

SEEN, HELD_OUT = "seen_tasks", "held_out_tasks"
REGIMES = (SEEN, HELD_OUT)
"""What a model is measured on: new groups of tasks that it knows, and tasks that it does not."""

LEAST_FOLDS = 3
"""With fewer, one fold would measure on all groups of a seen task at once."""


@dataclass(frozen=True)
class Fold:
    """Places of records: what is learned, and what is predicted in each regime."""

    train: Sequence[int]
    tests: Mapping[str, Sequence[int]]


def deal(records: Sequence[OutcomeRecord], count: int, *, seed: int = 0) -> list[Fold]:
    """Deal outcomes into folds; those in which nothing would be left to learn are left out.

    Args:
        records: Real outcomes.
        count: How many folds, at least `LEAST_FOLDS`.
        seed: Of the dealing.

    Raises:
        ValueError: If there are fewer than two groups.
    """
    groups = _groups_by_task(records)
    if sum(map(len, groups.values())) < 2:
        raise ValueError(
            "all outcomes are of one group: at least two are needed, one to learn and one to "
            "be measured on"
        )
    rng = np.random.default_rng(seed)
    tests: list[dict[str, list[int]]] = [{SEEN: [], HELD_OUT: []} for _ in range(count)]
    for turn, task in enumerate(rng.permutation(sorted(groups))):
        own = turn % count
        members = groups[str(task)]
        tests[own][HELD_OUT] += [place for places in members.values() for place in places]
        if len(members) == 1:
            continue  # measured on its only group, a task would not be a seen one
        for place, group in enumerate(rng.permutation(sorted(members))):
            fold = (own + 1 + place % (count - 1)) % count
            tests[fold][SEEN] += members[int(group)]
    folds = [_fold(test, records) for test in tests]
    return [fold for fold in folds if fold.train]


def limits(records: Sequence[OutcomeRecord], folds: Sequence[Fold]) -> list[str]:
    """What cannot be measured on these outcomes, and why: one sentence each."""
    groups = _groups_by_task(records)
    notes = []
    if len(groups) == 1:
        notes.append("there is one task only: nothing can be said about held-out tasks")
    alone = [task for task, members in groups.items() if len(members) == 1]
    if alone:
        notes.append(
            f"{len(alone)} of {len(groups)} tasks have one group: they are measured as held-out "
            "tasks only"
        )
    sizes = [len(places) for members in groups.values() for places in members.values()]
    if max(sizes) == 1:
        notes.append("all groups have one member: nothing can be said about order within groups")
    if not any(fold.tests[SEEN] for fold in folds):
        notes.append("nothing can be said about new groups of seen tasks")
    return notes


def fewer_groups(
    records: Sequence[OutcomeRecord], most: int, *, seed: int = 0
) -> list[OutcomeRecord]:
    """Leave out whole tasks, drawn at random, until at most `most` groups are left.

    Raises:
        ValueError: If not one task has so few groups.
    """
    groups = _groups_by_task(records)
    kept: set[str] = set()
    left = most
    for task in np.random.default_rng(seed).permutation(sorted(groups)):
        if len(groups[task]) <= left:
            kept.add(str(task))
            left -= len(groups[task])
    if not kept:
        least = min(map(len, groups.values()), default=0)
        raise ValueError(f"most_groups={most} is too few: a task has {least} or more")
    return [record for record in records if record.execution.task in kept]


def _groups_by_task(records: Sequence[OutcomeRecord]) -> dict[str, dict[int, list[int]]]:
    """Places of the records by task and group."""
    places: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, record in enumerate(records):
        places[record.execution.task][record.group].append(place)
    return {task: dict(groups) for task, groups in places.items()}


def _fold(tests: Mapping[str, Sequence[int]], records: Sequence[OutcomeRecord]) -> Fold:
    """The fold of these tests; what is executed in them is learned from nowhere else either."""
    keys = [record.execution.key for record in records]
    tested = {keys[place] for places in tests.values() for place in places}
    return Fold([place for place, key in enumerate(keys) if key not in tested], tests)
