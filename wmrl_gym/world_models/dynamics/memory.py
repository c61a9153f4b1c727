"""The episodes that a model learns from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from wmrl_gym.episodes import EpisodeRecord

_HELD_OUT_EVERY = 8


class Replay:
    """The latest episodes, of which every eighth is held out for as long as it is here.

    Args:
        capacity: Steps that are kept; the oldest episodes leave first.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        """Episodes that ever came."""
        self._episodes: list[tuple[int, EpisodeRecord]] = []

    def __len__(self) -> int:
        return len(self._episodes)

    @property
    def steps(self) -> int:
        """Steps that are kept."""
        return sum(episode.length for _, episode in self._episodes)

    @property
    def tasks(self) -> Counter[str]:
        """Episodes that are kept, by task."""
        return Counter(episode.task for _, episode in self._episodes)

    @property
    def episodes(self) -> list[EpisodeRecord]:
        """All that are kept, the oldest first."""
        return [episode for _, episode in self._episodes]

    def split(self) -> tuple[list[EpisodeRecord], list[EpisodeRecord]]:
        """The episodes to learn from, and those held out."""
        last = _HELD_OUT_EVERY - 1
        held_out = [e for number, e in self._episodes if number % _HELD_OUT_EVERY == last]
        training = [e for number, e in self._episodes if number % _HELD_OUT_EVERY != last]
        return training, held_out

    def add(self, episodes: Sequence[EpisodeRecord]) -> None:
        """Add episodes, without their frames."""
        for episode in episodes:
            self._episodes.append((self.seen, replace(episode, frames=None)))
            self.seen += 1
        steps, first = self.steps, 0
        while steps > self.capacity and first < len(self._episodes) - 1:
            steps -= self._episodes[first][1].length
            first += 1
        self._episodes = self._episodes[first:]

    def state_dict(self) -> dict[str, Any]:
        """The episodes as tensors and plain values."""
        return {
            "seen": self.seen,
            "episodes": [{"number": n, **_to_state(e)} for n, e in self._episodes],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.seen = state["seen"]
        self._episodes = [(each["number"], _from_state(each)) for each in state["episodes"]]


_ARRAYS = ("observations", "actions", "rewards", "terminations", "truncations", "successes")
_VALUES = ("task", "instruction", "seed", "policy")


def _to_state(episode: EpisodeRecord) -> dict[str, Any]:
    arrays = {name: torch.from_numpy(getattr(episode, name)) for name in _ARRAYS}
    return {**arrays, **{name: getattr(episode, name) for name in _VALUES}}


def _from_state(state: Mapping[str, Any]) -> EpisodeRecord:
    arrays = {name: state[name].numpy() for name in _ARRAYS}
    return EpisodeRecord(**arrays, **{name: state[name] for name in _VALUES})
