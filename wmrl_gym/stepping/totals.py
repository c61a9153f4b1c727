"""Counts of a run, and what its next update feeds back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from wmrl_gym.episodes import EpisodeRecord


@dataclass
class SteppingTotals:
    """What has really been stepped and what has been imagined."""

    groups: int = 0
    """Groups that have begun."""
    groups_real: int = 0
    """Groups scored for real, anchors among them."""
    episodes_real: int = 0
    """Finished episodes scored for real."""
    episodes_predicted: int = 0
    """Finished episodes whose score is a recast prediction."""
    steps_real: int = 0
    """Steps of the environment."""
    steps_imagined: int = 0
    """Steps of the environment that were avoided."""
    unscored: int = 0
    """Finished episodes without a score."""
    seconds_real: float = 0.0
    """Wall-clock seconds spent in the environment's steps."""
    seconds_model: float = 0.0
    """Wall-clock seconds spent in the model's steps and scores, shadows of anchors included."""


class ScoredPair(NamedTuple):
    """Predicted and true score of a finished episode that was scored for real."""

    task: str
    group: int
    predicted: float
    true: float


@dataclass
class Fresh:
    """What has come in since the last update."""

    pairs: list[ScoredPair] = field(default_factory=list)
    episodes: list[EpisodeRecord] = field(default_factory=list)
    """The really stepped episodes."""
