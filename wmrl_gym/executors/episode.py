"""The account of one episode, and how its group is scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmrl_gym.correction import CalibrationMap, RewardCorrection
from wmrl_gym.executors.episode_log import EpisodeRow
from wmrl_gym.outcomes import Execution, Outcome, Source, Status

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
    control: float = 0.0
    """What the advantage of an anchor's calibrated prediction counts in the loss."""


def settled_route(
    correction: RewardCorrection, task: str, *, anchor: bool, forced: bool, predicted: bool
) -> Route:
    """Fix how a group is scored.

    Args:
        correction: As it is now.
        task: The group's task.
        anchor: Whether the group was drawn.
        forced: Whether it would have been executed anyway, for want of a usable model.
        predicted: Whether the world model is asked.
    """
    real = anchor or forced
    share = 1.0 if forced or not real else correction.share(task)
    weight, control = correction.coefficients(anchor=real, share=share)
    return Route(
        real=real,
        predicted=predicted,
        map=correction.map,
        weight=weight,
        version=correction.version,
        control=control,
    )


@dataclass(kw_only=True)
class ScoredEpisode:
    """What every episode under a world model has, whether it executes or steps."""

    group: int
    anchor: bool
    route: Route | None = None
    """How its group is scored; `None` before it begins."""
    score_predicted: float = NO_VALUE
    score_calibrated: float = NO_VALUE
    score_true: float = NO_VALUE
    seconds: float = 0.0
    valid: bool = True
    """Whether everything in it that is scored has a score."""

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

    def _row(self, *, task: str, status: Status, artifact: str, feedback: str) -> EpisodeRow:
        """Its line in the log of a run."""
        assert self.route is not None  # it has begun
        return EpisodeRow(
            group=self.group,
            task=task,
            anchor=self.anchor,
            real=self.route.real,
            predicted=self.score_predicted,
            calibrated=self.score_calibrated,
            true=self.score_true,
            weight=self.route.weight,
            version=self.route.version,
            seconds=self.seconds,
            valid=self.valid,
            status=int(status),
            artifact=artifact,
            feedback=feedback,
        )


@dataclass(kw_only=True)
class Episode(ScoredEpisode):
    """Running account of one episode that executes. Its scores are maxima over its executions."""

    last: tuple[Execution, Outcome] | None = None
    """Its last execution."""
    paired: bool = True
    """Whether every execution so far was both predicted and executed."""

    def add(self, execution: Execution, outcome: Outcome, calibrated: float) -> None:
        """Account for one execution and the recast prediction that came with it."""
        self.last = execution, outcome
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

    def row(self) -> EpisodeRow | None:
        """Its line in the record of a run; `None` if it never executed anything."""
        if self.route is None or self.last is None:
            return None
        execution, outcome = self.last
        return self._row(
            task=execution.task,
            status=Status(outcome.status),
            artifact=execution.artifact,
            feedback=outcome.feedback,
        )


@dataclass(frozen=True)
class AnchorPair:
    """(predicted score, true score) of one finished anchor episode."""

    predicted: float
    true: float
    group: int
    task: str = ""


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
