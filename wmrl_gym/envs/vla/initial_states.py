"""Initial states: each is a pure function of its task, split and number."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from wmrl_gym.envs.vla.arm import HOME_HAND
from wmrl_gym.envs.vla.families import FAMILIES, SPLITS, Arrangement, Composition
from wmrl_gym.errors import TaskError

_HAND_SPREAD = 0.03


@dataclass(frozen=True)
class InitialState:
    """Where an episode starts and what it asks for."""

    task: str
    split: str
    init_state_id: int
    composition: Composition
    instruction: str
    arrangement: Arrangement
    hand: tuple[float, float, float]
    """Where the hand starts, in metres."""


def initial_state(task: str, split: str, init_state_id: int) -> InitialState:
    """Draw the initial state with this number.

    The two splits differ in their compositions and in their random streams, so no state is in
    both.

    Args:
        task: Name of a family.
        split: `"train"` or `"held_out"`.
        init_state_id: Its number, at least 0.

    Raises:
        TaskError: If `task` is unknown.
        ValueError: If another argument is out of its range.
    """
    if task not in FAMILIES:
        raise TaskError(f"task={task!r} is unknown; choose from {', '.join(FAMILIES)}")
    if split not in SPLITS:
        raise ValueError(f"split={split!r} must be one of {', '.join(SPLITS)}")
    if init_state_id < 0:
        raise ValueError(f"init_state_id={init_state_id} must be at least 0")
    family = FAMILIES[task]
    rng = np.random.default_rng([zlib.crc32(task.encode()), SPLITS.index(split), init_state_id])
    compositions = family.compositions(split)
    composition = compositions[int(rng.integers(len(compositions)))]
    instruction = family.instruction(rng, composition)
    arrangement = family.arrange(rng, composition)
    hand = np.array(HOME_HAND) + rng.uniform(-_HAND_SPREAD, _HAND_SPREAD, 3)
    x, y, z = hand.tolist()
    return InitialState(
        task, split, init_state_id, composition, instruction, arrangement, (x, y, z)
    )
