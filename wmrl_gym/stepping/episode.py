"""The account of one episode: what really happened in it and what a model imagined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeBuilder
from wmrl_gym.executors.episode import ScoredEpisode
from wmrl_gym.executors.episode_log import EpisodeRow
from wmrl_gym.outcomes import Status

IMAGINED_SUCCESS = 0.5
"""Probability from which on an imagined state counts as a success."""


@dataclass
class Dream:
    """An episode as a model imagines it: the whole of it, or the shadow of a real one.

    Where the model ends it, the shadow of a real episode that goes on stays as it is, for an
    imagined episode would have been scored there.
    """

    observation: npt.NDArray[np.float32]
    """`[D]` float32, where the model has got to."""
    builder: EpisodeBuilder
    success: float = 0.0
    """Highest probability of success after any step, in `[0, 1]`."""
    reward: float = 0.0
    """Predicted reward of the latest step."""
    surviving: float = 1.0
    """Probability that no step so far has terminated the episode, in `[0, 1]`."""
    terminated: bool = False
    truncated: bool = False
    lost: bool = False
    """Whether the model has lost its way: what it gave last is no number."""

    @property
    def ended(self) -> bool:
        """Whether the model has ended the episode, or lost its way."""
        return self.terminated or self.truncated or self.lost

    def record(self, action: npt.NDArray[np.float32], success: float) -> None:
        """Add the step that has just been imagined to the record."""
        self.success = max(self.success, success)
        self.builder.add(
            action,
            self.observation,
            self.reward,
            terminated=self.terminated,
            truncated=self.truncated,
            success=success >= IMAGINED_SUCCESS,
        )


@dataclass(kw_only=True)
class LaneEpisode(ScoredEpisode):
    """The running episode of one sub-environment."""

    task: str
    start: npt.NDArray[np.float32]
    """`[D]` float32, first observation."""
    seed: int | None
    horizon: int
    """Steps after which it is truncated."""
    kept: dict[str, Any]
    """What imagined steps repeat of the reset's `info`: task, instruction, initial state."""
    real: EpisodeBuilder | None = None
    """What really happened; `None` if nothing does."""
    dream: Dream | None = None
    """What the model imagines; `None` if it is not asked."""
    steps: int = 0
    ended: bool = False

    @property
    def instruction(self) -> str:
        """What it was told to do; empty if nothing."""
        return str(self.kept.get("instruction", ""))

    def builder(self) -> EpisodeBuilder:
        """A record that begins where this episode does."""
        return EpisodeBuilder(
            self.start, task=self.task, instruction=self.instruction, seed=self.seed
        )

    def row(self) -> EpisodeRow:
        """Its line in the log of a run, once it has ended."""
        return self._row(
            task=self.task,
            status=Status.COMPLETED if self.valid else Status.UNSCORED,
            artifact=self.instruction,
            feedback=f"{self.steps} steps",
        )
