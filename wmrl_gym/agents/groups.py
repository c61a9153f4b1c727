"""Which episode each slot plays: group ids, their seeds, and slots that never wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import torch as th
from numpy.typing import NDArray

IDLE: Final = -1
"""Index in the place of an episode's where a slot has none left to play."""

# Keeps the random numbers of a batch apart from the seed of its first group.
_BATCH_STREAM: Final = 1


def group_seed(seed: int, group: int) -> int:
    """Seed of all episodes of a group: a pure function of the two numbers.

    Args:
        seed: Seed of the algorithm, at least 0.
        group: Id of the group, at least 0.

    Returns:
        A number in `[0, 2**32)`. Groups with neighbouring ids get unrelated seeds.
    """
    return int(np.random.SeedSequence([seed, group]).generate_state(1)[0])


@contextmanager
def batch_randomness(seed: int, group: int, device: th.device) -> Iterator[np.random.Generator]:
    """Make what happens inside a function of the seed and of the batch's first group.

    A run that is saved and loaded between two batches then goes on as if it had not been.
    Torch's own random state is as before afterwards.

    Args:
        seed: Seed of the algorithm, at least 0.
        group: Id of the first group of the batch.
        device: Device of the policy.

    Yields:
        A generator for what is not torch's.
    """
    seeds = np.random.SeedSequence([seed, group, _BATCH_STREAM])
    with th.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        th.manual_seed(int(seeds.generate_state(1)[0]))
        yield np.random.default_rng(seeds)


class EpisodeSlots:
    """Hands out the episodes of one batch, group by group.

    A slot whose episode ends gets the next one at once, so that unequal lengths leave no slot
    waiting. At the end of a batch some slots find no episode left. A vector environment steps
    them all the same; they replay the last group until the batch is complete.

    Args:
        groups: `[M]` int64, ids of the groups of the batch.
        group_size: Episodes in each group.
        num_slots: Sub-environments.
    """

    def __init__(self, *, groups: NDArray[np.int64], group_size: int, num_slots: int) -> None:
        self.groups = np.repeat(groups, group_size)
        """`[E]` int64, the group of each episode of the batch."""
        self.episode = np.full(num_slots, IDLE, dtype=np.int64)
        """`[num_slots]` int64, the episode that each slot plays, or `IDLE`."""
        self._next = 0

    def refill(self, slots: Iterable[int]) -> dict[int, list[int]]:
        """Give each of `slots` its next episode.

        Returns:
            The slots to reset, by the id of the group that they are to start.
        """
        starts: dict[int, list[int]] = {}
        for slot in slots:
            idle = self._next == len(self.groups)
            self.episode[slot] = IDLE if idle else self._next
            group = int(self.groups[-1 if idle else self._next])
            self._next += not idle
            starts.setdefault(group, []).append(slot)
        return starts
