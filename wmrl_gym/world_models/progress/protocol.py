"""What a model has to offer that scores real rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeRecord


@runtime_checkable
class RewardModel(Protocol):
    """Scores what really happened, instead of imagining what would."""

    def score(self, episodes: Sequence[EpisodeRecord]) -> npt.NDArray[np.float64]:
        """Score `[N]` real episodes in one pass, from their frames or their observations.

        Returns:
            `[N]` float64 in [0, 1]: the probability that the episode achieved its task, or
            another score of the same order. NaN where the model could not tell.
        """
        ...
