"""Single states of episodes, drawn for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics.windows import joined

_FIRST = 0.125
"""Share of the first states of episodes, where nothing is gained yet, among those drawn."""
_EVENTS = 0.25
"""Share of successes and terminations, which are few, where states are drawn for their meaning."""


@dataclass(frozen=True, eq=False)
class States:
    """A batch of states, and what is known of them."""

    states: torch.Tensor
    """`[..., D]`."""
    gains: torch.Tensor
    """`[...]` return of the episode up to each state."""
    meanings: torch.Tensor
    """`[..., 2]` 0 or 1: whether it is a success, and an end of the task; 0 of first states."""


class StateSampler:
    """All states of some episodes on a device, from which some are drawn.

    Args:
        episodes: `[N]` episodes, N >= 1.
        device: Where the arrays live.
    """

    def __init__(self, episodes: Sequence[EpisodeRecord], device: str) -> None:
        lengths = np.array([episode.length for episode in episodes])
        self._first = np.cumsum(lengths + 1) - lengths - 1
        self._later = np.delete(np.arange(int((lengths + 1).sum())), self._first)
        meanings = np.concatenate([episode.meanings for episode in episodes])
        self._events = self._later[meanings.any(axis=1)]
        self._states = joined([e.observations for e in episodes], device)
        self._gains = joined([np.append(0.0, e.rewards.cumsum()) for e in episodes], device)
        self._meanings = torch.zeros((len(self._states), meanings.shape[1]), device=device)
        self._meanings[torch.from_numpy(self._later)] = torch.from_numpy(
            meanings.astype(np.float32)
        ).to(device)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> States:
        """States of `shape`, drawn at random; a part of them are first states."""
        return self._mixed(rng.choice(self._first, size=shape), _FIRST, rng)

    def draw_meanings(self, shape: tuple[int, ...], rng: np.random.Generator) -> States:
        """States of `shape` after a step; a part of them, if there are any, are events."""
        if not len(self._events):
            return self._at(rng.choice(self._later, size=shape))
        return self._mixed(rng.choice(self._events, size=shape), _EVENTS, rng)

    def every(self, count: int) -> States:
        """`[1, N]` states after a step, evenly over all of them, at most `count`."""
        evenly = np.linspace(0, len(self._later) - 1, min(count, len(self._later)))
        return self._at(self._later[evenly.astype(np.int64)][None])

    def _mixed(
        self, special: npt.NDArray[np.int64], share: float, rng: np.random.Generator
    ) -> States:
        others = rng.choice(self._later, size=special.shape)
        return self._at(np.where(rng.random(special.shape) < share, special, others))

    def _at(self, index: npt.NDArray[np.int64]) -> States:
        where = torch.from_numpy(index).to(self._states.device)
        return States(self._states[where], self._gains[where], self._meanings[where])
