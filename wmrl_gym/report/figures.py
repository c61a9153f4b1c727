"""The figures of a report. Each returns SVG text, or nothing where there is nothing to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.executors.episode_log import EpisodeRow
from wmrl_gym.report.drawing import FAINT, PALETTE, panel
from wmrl_gym.report.run_data import RunData

BINS = 10
"""Bins of the reliability diagram, each with about as many pairs."""
MOST_POINTS = 2000
"""Points of a scatter plot; of more, evenly spaced ones are drawn."""
MOST_PANELS = 9
"""Tasks that get a panel of their own: those with most pairs."""

_OVER_TIME = (
    ("rank_correlation", "rank correlation within groups"),
    ("residual", "residual on fresh anchors"),
    ("anchor_weight", "weight of an anchor"),
    ("anchor_share", "share of groups executed"),
)


def score_curves(runs: Sequence[RunData]) -> list[str]:
    """Draw the mean score of each batch against real executions and against time."""
    return [
        _curves(runs, of=name, over=over, label=label, title="mean score of a batch")
        for name, over, label in (
            ("score", "executions_real", "real executions"),
            ("score", "elapsed", "seconds"),
        )
    ]


def correction_over_time(runs: Sequence[RunData]) -> list[str]:
    """Draw what the correction's diagnostics say after each batch."""
    return [
        _curves(runs, of=name, over="groups", label="groups", title=title)
        for name, title in _OVER_TIME
    ]


def reliability(run: RunData) -> str:
    """Draw mean true score against mean prediction, before and after debiasing."""
    pairs = run.pairs
    if len(pairs) < 2 * BINS:
        return ""
    true = np.array([row.true for row in pairs])
    with panel(height=3.6) as drawn:
        drawn.axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        for name, label in (("predicted", "raw prediction"), ("calibrated", "after debiasing")):
            given = np.array([getattr(row, name) for row in pairs])
            drawn.axes.plot(*_binned(given, true), marker="o", markersize=4, label=label)
        title = f"{len(pairs)} anchor pairs"
        drawn.axes.set(xlabel="predicted score", ylabel="true score", title=title)
        drawn.axes.legend()
    return drawn.svg


def predicted_against_true(run: RunData) -> list[str]:
    """Draw calibrated against true scores of the anchors, a panel for each task."""
    pairs = run.pairs
    tasks = [task for task, _ in Counter(row.task for row in pairs).most_common(MOST_PANELS)]
    return [_scatter(task, [row for row in pairs if row.task == task]) for task in tasks]


def _curves(runs: Sequence[RunData], *, of: str, over: str, label: str, title: str) -> str:
    with panel() as drawn:
        for run in runs:
            values = _anchor_share(run) if of == "anchor_share" else run.series(of)
            drawn.axes.plot(run.series(over), values, label=run.name, linewidth=1.5)
        drawn.axes.set(xlabel=label, title=title)
        if len(runs) > 1:
            drawn.axes.legend()
    return drawn.svg


def _scatter(task: str, pairs: Sequence[EpisodeRow]) -> str:
    chosen = pairs[:: -(-len(pairs) // MOST_POINTS)]
    with panel() as drawn:
        drawn.axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        calibrated, true = ([getattr(r, n) for r in chosen] for n in ("calibrated", "true"))
        drawn.axes.scatter(calibrated, true, s=9, alpha=0.5, color=PALETTE[0])
        drawn.axes.set(title=task or "all episodes", xlabel="calibrated", ylabel="true")
    return drawn.svg


def _binned(
    given: NDArray[np.float64], true: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of given and true scores in bins of about as many pairs, ties kept together."""
    edges = np.unique(np.quantile(given, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
    member = np.searchsorted(edges, given, side="right")
    counts = np.bincount(member, minlength=len(edges) + 1)
    filled = counts > 0
    means = [np.bincount(member, weights=w, minlength=len(counts))[filled] for w in (given, true)]
    return means[0] / counts[filled], means[1] / counts[filled]


def _anchor_share(run: RunData) -> NDArray[np.float64]:
    """Share of the groups so far that were executed for real."""
    begun = run.series("groups_begun")
    groups = np.where(np.isnan(begun), run.series("groups"), begun)
    share = run.series("groups_real") / groups
    return np.where(np.isnan(share), 1.0, share)
