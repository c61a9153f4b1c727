"""The account of one episode: what really happened in it and what a model imagined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeBuilder
from wmrl_gym.executors.episode import NO_VALUE, Route
from wmrl_gym.executors.episode_log import EpisodeRow
from wmrl_gym.outcomes import Source, Status

IMAGINED_SUCCESS = 0.5
"""Probability from which on an imagined state counts as a success, or as an end."""


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


@dataclass
class LaneEpisode:
    """The running episode of one sub-environment."""

    group: int
    anchor: bool
    task: str
    start: npt.NDArray[np.float32]
    """`[D]` float32, first observation."""
    seed: int | None
    horizon: int
    """Steps after which it is truncated."""
    kept: dict[str, Any]
    """What imagined steps repeat of the reset's `info`: task, instruction, initial state."""
    route: Route | None = None
    real: EpisodeBuilder | None = None
    """What really happened; `None` if nothing does."""
    dream: Dream | None = None
    """What the model imagines; `None` if it is not asked."""
    steps: int = 0
    seconds: float = 0.0
    ended: bool = False
    valid: bool = True
    score_predicted: float = NO_VALUE
    score_calibrated: float = NO_VALUE
    score_true: float = NO_VALUE

    def builder(self) -> EpisodeBuilder:
        """A record that begins where this episode does."""
        instruction = str(self.kept.get("instruction", ""))
        return EpisodeBuilder(self.start, task=self.task, instruction=instruction, seed=self.seed)

    def row(self) -> EpisodeRow:
        """What the log of a run keeps of it, once it has ended."""
        assert self.route is not None
        return EpisodeRow(
            group=self.group,
            task=self.task,
            anchor=self.anchor,
            real=self.route.real,
            predicted=self.score_predicted,
            calibrated=self.score_calibrated,
            true=self.score_true,
            weight=self.route.weight,
            version=self.route.version,
            seconds=self.seconds,
            valid=self.valid,
            status=int(Status.COMPLETED if self.valid else Status.UNSCORED),
            artifact=str(self.kept.get("instruction", "")),
            feedback=f"{self.steps} steps",
        )

    def info(self, version: int) -> dict[str, Any]:
        """The flat keys that `info` carries after every reset and step: plain Python values.

        Args:
            version: Current version of the correction, for a group that has not begun.
        """
        route = self.route
        source = Source.NONE
        if route is not None:
            source = Source.REAL if route.real else Source.PREDICTED
        return {
            "wmrl/group": self.group,
            "wmrl/anchor": self.anchor,
            "wmrl/score_predicted": self.score_predicted,
            "wmrl/score_calibrated": self.score_calibrated,
            "wmrl/score_true": self.score_true,
            "wmrl/weight": 1.0 if route is None else route.weight,
            "wmrl/control": 0.0 if route is None else route.control,
            "wmrl/valid": self.valid,
            "wmrl/source": int(source),
            "wmrl/version": version if route is None else route.version,
            "wmrl/seconds": self.seconds,
        }
