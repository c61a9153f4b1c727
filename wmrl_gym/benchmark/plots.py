"""The plots of a study, as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wmrl_gym.benchmark.results import ArmResult
from wmrl_gym.benchmark.statistics import Interval, performance_profile
from wmrl_gym.benchmark.tables import ArmRow, by_arm, running_mean, score_table

DOTS_PER_INCH = 110


def plot_scores(rows: Sequence[ArmRow], file: Path) -> None:
    """Draw the true score of each arm with its interval: tasks trained on, and held out."""
    figure, axes = _figure(4.6, 0.5 * len(rows) + 1.2)
    for offset, label, intervals in (
        (-0.12, "trained on", [row.score for row in rows]),
        (0.12, "held out", [row.held_out for row in rows]),
    ):
        for place, interval in enumerate(intervals):
            if interval is not None:
                _bar(axes, place + offset, interval, f"C{offset > 0:d}", label if not place else "")
    axes.set_yticks(range(len(rows)), [row.arm for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("true score, interquartile mean [95 %]")
    axes.legend(frameon=False)
    _save(figure, file)


def plot_curves(results: Sequence[ArmResult], file: Path, *, over: str, label: str) -> None:
    """Draw the training score of each arm, as its agent was told it, against a cost.

    It is the running mean over `SMOOTHED` batches, and the mean over seeds.

    Args:
        results: Of one scenario.
        file: The PNG file.
        over: Name of the curve to draw against: `executions`, `seconds` or `groups`.
        label: Of the horizontal axis.
    """
    figure, axes = _figure(6.4, 3.4)
    for colour, (arm, of) in enumerate(by_arm(results).items()):
        x = np.mean([r.curve[over] for r in of.values()], axis=0)
        y = np.mean([r.curve["score"] for r in of.values()], axis=0)
        smooth = running_mean(y)
        axes.plot(x[-len(smooth) :], smooth, label=arm, **_line(colour))
    axes.set(xlabel=label, ylabel="mean score that the agent is told")
    _legend_beside(axes)
    _save(figure, file)


def plot_profiles(results: Sequence[ArmResult], file: Path) -> None:
    """Draw the share of runs above each score (performance profiles), tasks trained on."""
    figure, axes = _figure(6.4, 3.4)
    thresholds = np.linspace(0.0, 1.0, 201)
    for colour, (arm, of) in enumerate(by_arm(results).items()):
        scores = score_table(list(of.values()), held_out=False)
        axes.plot(thresholds, performance_profile(scores, thresholds), label=arm, **_line(colour))
    axes.set(xlabel="true score", ylabel="share of runs above")
    _legend_beside(axes)
    _save(figure, file)


def plot_sweep(
    points: Mapping[str, Sequence[tuple[float, Interval]]], file: Path, *, label: str
) -> None:
    """Draw the true score against a dial, a line for each arm.

    Args:
        points: By arm, the value of the dial and the score there.
        file: The PNG file.
        label: Of the dial.
    """
    figure, axes = _figure(5.2, 3.4)
    for arm, of in points.items():
        x = [value for value, _ in of]
        axes.plot(x, [score.estimate for _, score in of], marker="o", markersize=4, label=arm)
        axes.fill_between(x, [s.low for _, s in of], [s.high for _, s in of], alpha=0.15)
    axes.set(xlabel=label, ylabel="true score")
    axes.legend(frameon=False, fontsize=8)
    _save(figure, file)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes: Axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    return figure, axes


def _line(number: int) -> dict[str, Any]:
    """A colour for each of 20 lines: dark ones first, then their light twins."""
    return {"color": colormaps["tab20"](2 * number % 20 + number // 10 % 2), "linewidth": 1.5}


def _legend_beside(axes: Axes) -> None:
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _bar(axes: Axes, place: float, interval: Interval, colour: str, label: str) -> None:
    axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=2)
    axes.plot([interval.estimate], [place], marker="o", color=colour, label=label or None, ls="")


def _save(figure: Figure, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=DOTS_PER_INCH)
