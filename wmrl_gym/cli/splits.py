"""Which recorded outcomes are learned, and which tell how well that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from wmrl_gym.interchange.outcomes import OutcomeRecord

T = TypeVar("T")

TRAIN, VALIDATION = "train groups", "validation groups"
GROUPS, TASKS = "held-out groups", "held-out tasks"


@dataclass(frozen=True)
class SplitSettings:
    """What is held out."""

    held_out: tuple[str, ...] = ()
    """Names of the tasks that nothing is learned of; a share drawn at random if not given."""
    held_out_share: float = 0.2
    """Share of the tasks that are held out, and of the groups of the others, in [0, 1)."""
    validation_share: float = 0.15
    """Share of the other groups that decide when training stops, in [0, 1)."""
    split_seed: int = 0
    """Seed of the draw."""

    def __post_init__(self) -> None:
        for name in ("held_out_share", "validation_share"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name}={getattr(self, name)} must be in [0, 1)")


def split(
    records: Sequence[OutcomeRecord], settings: SplitSettings
) -> Mapping[str, list[OutcomeRecord]]:
    """Divide outcomes by task and group; those without a score are left out.

    Args:
        records: Real outcomes.
        settings: What is held out.

    Returns:
        The records of each part: `TRAIN`, `VALIDATION`, `GROUPS`, `TASKS`.

    Raises:
        ValueError: If a task is unknown, or nothing is left to learn.
    """
    scored = [record for record in records if record.outcome.score is not None]
    tasks = sorted({record.execution.task for record in scored})
    unknown = set(settings.held_out) - set(tasks)
    if unknown:
        raise ValueError(f"held_out={sorted(unknown)} are not among the tasks {tasks}")
    rng = np.random.default_rng(settings.split_seed)
    held = set(settings.held_out) or _drawn(tasks, settings.held_out_share, rng)
    groups = sorted({_group(record) for record in scored if record.execution.task not in held})
    apart = _drawn(groups, settings.held_out_share, rng)
    left = [group for group in groups if group not in apart]
    watched = _drawn(left, settings.validation_share, rng)
    parts: dict[str, list[OutcomeRecord]] = {TRAIN: [], VALIDATION: [], GROUPS: [], TASKS: []}
    for record in scored:
        group = _group(record)
        if record.execution.task in held:
            parts[TASKS].append(record)
        elif group in apart:
            parts[GROUPS].append(record)
        else:
            parts[VALIDATION if group in watched else TRAIN].append(record)
    if not parts[TRAIN]:
        raise ValueError(
            f"nothing is left to learn of {len(scored)} outcomes with a score in {len(groups)} "
            "groups: hold out less"
        )
    return parts


def fewer(records: Sequence[OutcomeRecord], most_groups: int, seed: int) -> list[OutcomeRecord]:
    """The records of at most so many groups, drawn at random."""
    groups = sorted({_group(record) for record in records})
    order = np.random.default_rng(seed).permutation(len(groups))[:most_groups]
    kept = {groups[index] for index in order}
    return [record for record in records if _group(record) in kept]


def _group(record: OutcomeRecord) -> tuple[str, int]:
    return record.execution.task, record.group


def _drawn(names: Sequence[T], share: float, rng: np.random.Generator) -> set[T]:
    """A share of them, at least one if any is wanted and others are left."""
    count = min(len(names) - 1, max(1, round(share * len(names)))) if share > 0 and names else 0
    return {names[index] for index in rng.permutation(len(names))[:count]}
