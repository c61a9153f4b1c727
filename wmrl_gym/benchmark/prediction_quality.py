"""All figures of one world model's predictions, over all tasks and for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_gym.benchmark.statistics import Interval
from wmrl_gym.correction.checks import BoolArray, FloatArray, IntArray
from wmrl_gym.correction.diagnostics import rank_correlations
from wmrl_gym.correction.quality import (
    ReliabilityBin,
    bootstrap_interval,
    calibration_error,
    cross_debiased,
    detection_auc,
    pair_accuracies,
    reliability,
)

Figure = Callable[[IntArray], float]
"""A figure over chosen groups, given by their places."""


@dataclass(frozen=True)
class Predictions:
    """What was predicted for `[N]` real outcomes; all arrays have that length."""

    tasks: Sequence[str]
    groups: IntArray
    """Members of one group have the same task."""
    predicted: FloatArray
    """Predicted scores; NaN where there is none."""
    p_completed: FloatArray
    """Predicted probability that a valid result is left; NaN where there is no score."""
    true: FloatArray
    completed: BoolArray
    """Whether a valid result was left."""


@dataclass(frozen=True)
class Quality:
    """How good predictions are. NaN stands for what could not be measured."""

    figures: Mapping[str, Interval]
    """Over all groups, with 95 % intervals from resampled groups:
    `rank_correlation` and `pair_accuracy` within groups (means over groups),
    `completion_auc` of the probability of a valid result,
    `bias` (mean of predicted minus true), `squared_error`, `calibration_error` of the scores,
    the last three also `_debiased`, by maps fitted to other groups or tasks (only if these have
    pairs enough for every map), and
    `completion_calibration_error`."""
    tasks: Mapping[str, Mapping[str, float]]
    """The same figures for each task, and its number of `pairs`."""
    counts: Mapping[str, int]
    """`asked` predictions, `unscored` ones among them, `debiased` pairs; `groups` with a pair,
    `groups_of_one`, `groups_without_spread` (all true scores equal: left out of the figures
    within groups), `groups_predicted_equal` (whose rank correlation is 0)."""
    diagrams: Mapping[str, tuple[ReliabilityBin, ...]]
    """Points of reliability diagrams: `score`, `score_debiased`, `completion`."""

    @property
    def unscored_share(self) -> float:
        """Share of predictions without a score."""
        return self.counts["unscored"] / self.counts["asked"]


def measure(
    predictions: Predictions,
    *,
    debias_across: str,
    bounds: tuple[float, float] = (0.0, 1.0),
    bins: int = 10,
    resamples: int = 1000,
    seed: int = 0,
) -> Quality:
    """Measure predictions against the outcomes.

    Args:
        predictions: At least one.
        debias_across: `"groups"` to recast the predictions for a group by the map of the other
            groups, `"tasks"` by that of the other tasks.
        bounds: Lowest and highest score.
        bins: Of the reliability diagrams.
        resamples: Of the groups, for the intervals.
        seed: Of the resampling, and of the dealing for the maps.
    """
    scored = ~np.isnan(predictions.predicted)
    pairs = _Pairs.of(predictions, scored, debias_across, bounds, seed)
    functions = pairs.figures(bounds, bins)
    everything = np.arange(len(pairs.members))
    figures = {
        name: Interval(
            figure(everything),
            *bootstrap_interval(figure, len(everything), resamples=resamples, seed=seed),
        )
        for name, figure in functions.items()
    }
    counts = {"asked": len(scored), "unscored": int((~scored).sum()), **pairs.counts()}
    return Quality(figures, pairs.by_task(functions), counts, pairs.diagrams(bounds, bins))


@dataclass(frozen=True)
class _Pairs:
    """The predictions that have a score, sorted into groups."""

    tasks: Sequence[str]
    """`[G]` task of each group."""
    members: list[IntArray]
    """`[G]` places of the members of each group among the pairs."""
    predicted: FloatArray
    debiased: FloatArray
    true: FloatArray
    p_completed: FloatArray
    completed: BoolArray
    ranks: FloatArray
    """`[G]` rank correlation within each group."""
    accuracies: FloatArray
    """`[G]` pair accuracy within each group."""

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        scored: BoolArray,
        debias_across: str,
        bounds: tuple[float, float],
        seed: int,
    ) -> _Pairs:
        groups = predictions.groups[scored]
        tasks = np.array(predictions.tasks, dtype=object)[scored]
        predicted, true = predictions.predicted[scored], predictions.true[scored]
        members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        task_numbers = np.unique(tasks.astype(str), return_inverse=True)[1]
        blocks = groups if debias_across == "groups" else task_numbers
        debiased = cross_debiased(predicted, true, blocks, bounds=bounds, seed=seed)
        if np.isnan(debiased).any():
            # Before and after are to be compared on the same pairs or not at all.
            debiased = np.full(len(predicted), np.nan)
        return cls(
            tasks=[str(tasks[places[0]]) for places in members],
            members=members,
            predicted=predicted,
            debiased=debiased,
            true=true,
            p_completed=predictions.p_completed[scored],
            completed=predictions.completed[scored],
            ranks=rank_correlations(predicted, true, groups),
            accuracies=pair_accuracies(predicted, true, groups),
        )

    def figures(self, bounds: tuple[float, float], bins: int) -> dict[str, Figure]:
        """The figures by name, each of the groups that it is given."""
        true, completed = self.true, self.completed.astype(np.float64)
        figures: dict[str, Figure] = {
            "rank_correlation": lambda groups: _mean(self.ranks[groups]),
            "pair_accuracy": lambda groups: _mean(self.accuracies[groups]),
            "completion_auc": self._over(
                lambda i: detection_auc(self.p_completed[i], self.completed[i])
            ),
            "completion_calibration_error": self._over(
                lambda i: _distance(self.p_completed[i], completed[i], (0.0, 1.0), bins)
            ),
        }
        for suffix, scores in (("", self.predicted), ("_debiased", self.debiased)):
            errors = scores - true
            figures |= {
                f"bias{suffix}": self._mean_over(errors),
                f"squared_error{suffix}": self._mean_over(errors**2),
                f"calibration_error{suffix}": self._distance_over(scores, bounds, bins),
            }
        return figures

    def by_task(self, figures: Mapping[str, Figure]) -> dict[str, dict[str, float]]:
        found = {}
        for task in sorted(set(self.tasks)):
            groups = np.flatnonzero([of == task for of in self.tasks])
            pairs = float(sum(len(self.members[group]) for group in groups))
            of_task = {name: figure(groups) for name, figure in figures.items()}
            found[task] = {"pairs": pairs, **of_task}
        return found

    def counts(self) -> dict[str, int]:
        several = [places for places in self.members if len(places) > 1]
        spread = [places for places in several if np.ptp(self.true[places]) > 0.0]
        return {
            "debiased": int((~np.isnan(self.debiased)).sum()),
            "groups": len(self.members),
            "groups_of_one": len(self.members) - len(several),
            "groups_without_spread": len(several) - len(spread),
            "groups_predicted_equal": len(
                [places for places in spread if np.ptp(self.predicted[places]) == 0.0]
            ),
        }

    def diagrams(
        self, bounds: tuple[float, float], bins: int
    ) -> dict[str, tuple[ReliabilityBin, ...]]:
        known = ~np.isnan(self.debiased)
        recast = reliability(self.debiased[known], self.true[known], bounds=bounds, bins=bins)
        return {
            "score": reliability(self.predicted, self.true, bounds=bounds, bins=bins),
            "score_debiased": recast,
            "completion": reliability(self.p_completed, self.completed, bins=bins),
        }

    def _over(self, of_pairs: Callable[[IntArray], float]) -> Figure:
        """A figure of groups from one of their members."""

        def figure(groups: IntArray) -> float:
            if not groups.size:
                return float("nan")
            return of_pairs(np.concatenate([self.members[group] for group in groups]))

        return figure

    def _mean_over(self, values: FloatArray) -> Figure:
        return self._over(lambda i: _mean(values[i]))

    def _distance_over(self, scores: FloatArray, bounds: tuple[float, float], bins: int) -> Figure:
        return self._over(lambda i: _distance(scores[i], self.true[i], bounds, bins))


def _distance(
    predicted: FloatArray, true: FloatArray, bounds: tuple[float, float], bins: int
) -> float:
    known = ~np.isnan(predicted)
    return calibration_error(reliability(predicted[known], true[known], bounds=bounds, bins=bins))


def _mean(values: FloatArray) -> float:
    """Mean of what is known; NaN if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
