"""Short stretches of episodes, drawn for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from wmrl_gym.episodes import EpisodeRecord

_LIKELY_SUCCESS = 0.25
"""Share of the windows drawn to hold a success, of which few would be seen otherwise."""


@dataclass(frozen=True, eq=False)
class Windows:
    """A batch of stretches of H steps; those that an episode's end cuts short are masked."""

    states: torch.Tensor
    """`[..., H + 1, D]`."""
    actions: torch.Tensor
    """`[..., H, A]`."""
    rewards: torch.Tensor
    """`[..., H]`."""
    mask: torch.Tensor
    """`[..., H]` bool: steps that belong to the episode."""


class WindowSampler:
    """The steps of some episodes, end to end on a device, from which windows are drawn.

    Args:
        episodes: `[N]` episodes, N >= 1.
        chunk: H, steps of a window.
        device: Where the arrays live.
    """

    def __init__(self, episodes: Sequence[EpisodeRecord], chunk: int, device: str) -> None:
        self.chunk = chunk
        lengths = np.array([episode.length for episode in episodes])
        self._first = np.cumsum(lengths) - lengths
        self._episode = np.repeat(np.arange(len(episodes)), lengths)
        self._end = torch.from_numpy((self._first + lengths)[self._episode]).to(device)
        self._successes = np.flatnonzero(np.concatenate([e.successes for e in episodes]))
        self._states = joined([e.observations[:-1] for e in episodes], device)
        self._next_states = joined([e.observations[1:] for e in episodes], device)
        self._actions = joined([e.actions for e in episodes], device)
        self._rewards = joined([e.rewards for e in episodes], device)

    @property
    def steps(self) -> int:
        """Steps of all episodes."""
        return len(self._episode)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Windows:
        """Windows of `shape` that start at steps drawn at random."""
        starts = rng.integers(self.steps, size=shape)
        if len(self._successes):
            hit = rng.choice(self._successes, size=shape)
            before = np.maximum(hit - rng.integers(self.chunk, size=shape), self._first_of(hit))
            starts = np.where(rng.random(shape) < _LIKELY_SUCCESS, before, starts)
        return self.at(starts)

    def every(self, count: int, members: int) -> Windows:
        """`[M, N]` windows that start evenly over all steps, N <= `count`, the same for all."""
        evenly = np.linspace(0, self.steps - 1, min(count, self.steps)).astype(np.int64)
        return self.at(np.tile(evenly, (members, 1)))

    def at(self, starts: npt.NDArray[np.int64]) -> Windows:
        """Windows `[...]` from the steps with the numbers `starts`, `[...]`."""
        first = torch.from_numpy(starts).to(self._states.device)
        wanted = first[..., None] + torch.arange(self.chunk, device=first.device)
        end = self._end[first][..., None]
        index = torch.minimum(wanted, end - 1)
        return Windows(
            states=torch.cat([self._states[first][..., None, :], self._next_states[index]], dim=-2),
            actions=self._actions[index],
            rewards=self._rewards[index],
            mask=wanted < end,
        )

    def _first_of(self, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first: npt.NDArray[np.int64] = self._first[self._episode[steps]]
        return first


def joined(arrays: Sequence[npt.NDArray[np.generic]], device: str) -> torch.Tensor:
    """The rows of all arrays, as float32 on a device."""
    return torch.from_numpy(np.concatenate(arrays).astype(np.float32)).to(device)
