"""Rollouts that a trainer has finished, scored for it from whatever thread it asks."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from wmrl_gym.agents.llm.scorer import GroupScorer
from wmrl_gym.agents.llm.scores import Score

Rollout = str | Sequence[str]
"""What an agent said, turn by turn, or one text for an episode of one turn."""


class FinishedRollouts:
    """`GroupScorer` for trainers whose groups end at different times, in different threads.

    Args:
        scorer: Plays what the agents said. Nothing else may use it meanwhile.
    """

    def __init__(self, scorer: GroupScorer) -> None:
        self._scorer = scorer
        self._turn = threading.Lock()

    def next_batch(self, count: int) -> range:
        """Feed back the anchors of the batch before, and number the groups of the next one."""
        with self._turn:
            self._scorer.update()
            return self._scorer.next_groups(count)

    def score(self, task: str, group: int, rollouts: Sequence[Rollout]) -> list[Score]:
        """The scores of a group, or of some of its members; see `GroupScorer.score_groups`."""
        with self._turn:
            return self._scorer.score_groups([(task, group, rollouts)])[0]

    @property
    def mean_weight(self) -> float:
        """What the weights of a long row of groups have as their mean, as things stand."""
        correction = self._scorer.correction
        return 1.0 + correction.share() * (correction.anchor_weight - 1.0)
