"""The account of one episode, and how its group is scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wmrl_gym.correction import CalibrationMap
from wmrl_gym.outcomes import Outcome, Source

NO_VALUE = float("nan")
"""Stands in `info` where there is no number; never 0, which is a score."""


@dataclass(frozen=True)
class Route:
    """How every episode of one group is scored, fixed when the group first executes.

    A group has one source, one map and one weight, whatever happens between its episodes:
    advantages compare its members, so their scores must be on one scale.
    """

    real: bool
    """Executed for real: an anchor, or a task that the world model cannot predict yet."""
    predicted: bool
    """Whether the world model is asked."""
    map: CalibrationMap
    weight: float
    version: int


@dataclass
class Episode:
    """Running account of one episode. Its scores are maxima over its executions."""

    group: int
    anchor: bool
    route: Route | None = None
    score_predicted: float = NO_VALUE
    score_calibrated: float = NO_VALUE
    score_true: float = NO_VALUE
    seconds: float = 0.0
    valid: bool = True
    """Whether every execution so far has a score."""
    paired: bool = True
    """Whether every execution so far was both predicted and executed."""

    def add(self, outcome: Outcome, calibrated: float) -> None:
        """Account for one execution and the recast prediction that came with it."""
        predicted = NO_VALUE if outcome.predicted is None else outcome.predicted
        real = outcome.source is Source.REAL
        true = outcome.score if real and outcome.score is not None else NO_VALUE
        # fmax passes over NaN, so that one missing number does not hide the others.
        self.score_predicted = float(np.fmax(self.score_predicted, predicted))
        self.score_calibrated = float(np.fmax(self.score_calibrated, calibrated))
        self.score_true = float(np.fmax(self.score_true, true))
        self.seconds += outcome.seconds
        self.valid = self.valid and outcome.score is not None
        self.paired = self.paired and real and outcome.predicted is not None


@dataclass(frozen=True)
class AnchorPair:
    """(predicted score, true score) of one finished anchor episode."""

    predicted: float
    true: float
    group: int


@dataclass
class Totals:
    """What has been executed and what has been avoided."""

    groups: int = 0
    """Groups that have executed anything."""
    groups_real: int = 0
    """Groups executed for real, anchors among them."""
    executions_real: int = 0
    executions_avoided: int = 0
    unscored: int = 0
    """Outcomes without a score, real or predicted."""
    seconds_real: float = 0.0
    """Durations of the real executions, summed."""
    seconds_avoided: float = 0.0
    """Predicted durations of the avoided executions, summed."""

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.unscored += outcome.score is None
        if outcome.source is Source.REAL:
            self.executions_real += 1
            self.seconds_real += outcome.seconds
        else:
            self.executions_avoided += 1
            self.seconds_avoided += outcome.seconds
