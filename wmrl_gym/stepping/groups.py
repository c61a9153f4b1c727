"""Which group an episode belongs to, and how its group is scored."""

from __future__ import annotations

import logging
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from wmrl_gym.executors.episode import Route
from wmrl_gym.stepping.episode import LaneEpisode

_log = logging.getLogger(__name__)


class GroupBook:
    """The groups that have begun, and the numbers of those without an id of their own.

    Args:
        lanes: Number of sub-environments.
        first: First id that is given out.
        stride: Distance between such ids; `n` workers number without collisions with
            `first=i, stride=n`.
    """

    def __init__(self, lanes: int, *, first: int, stride: int) -> None:
        self.started = [0] * lanes
        """How many ids each lane has been given."""
        self._first = first
        self._stride = stride
        self._routes: dict[int, Route] = {}
        self._starts: dict[int, npt.NDArray[np.float32]] = {}
        self._warned = False

    def next_id(self, lane: int) -> int:
        """Id for an episode that is a group of its own."""
        turn = self.started[lane]
        self.started[lane] += 1
        return self._first + self._stride * (lane + len(self.started) * turn)

    def route(self, episode: LaneEpisode) -> Route | None:
        """How the group of an episode is scored; `None` if the episode is its first."""
        start = self._starts.setdefault(episode.group, episode.start)
        if not self._warned and not np.array_equal(start, episode.start):
            self._warned = True
            _log.warning(
                "the episodes of group %d start from different observations, so that their scores "
                "do not compare their actions alone: give all members of a group the same seed or "
                "init_state_id, in an environment that heeds it",
                episode.group,
            )
        return self._routes.get(episode.group)

    def settle(self, group: int, route: Route) -> None:
        """Score all episodes of `group` in this way."""
        self._routes[group] = route

    def keep(self, groups: Collection[int]) -> None:
        """Forget all groups but these."""
        self._routes = {group: r for group, r in self._routes.items() if group in groups}
        self._starts = {group: s for group, s in self._starts.items() if group in groups}
