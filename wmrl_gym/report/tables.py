"""The tables of a report: rows of cells, ready for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wmrl_gym.report.run_data import RunData

Rows = list[tuple[str, ...]]

_COST = (
    ("groups", "groups trained on", "{:.0f}"),
    ("executions_real", "real executions done", "{:.0f}"),
    ("executions_avoided", "real executions avoided", "{:.0f}"),
    ("steps_real", "real steps done", "{:.0f}"),
    ("steps_imagined", "imagined steps", "{:.0f}"),
    ("elapsed", "seconds of training", "{:.1f}"),
    ("seconds_real", "seconds in real executions, summed", "{:.1f}"),
    ("seconds_saved", "seconds saved (estimate)", "{:.1f}"),
    ("unscored", "outcomes without a score", "{:.0f}"),
    ("pairs", "pairs behind the map", "{:.0f}"),
    ("residual", "residual on fresh anchors", "{:.4f}"),
    ("bias_reduction", "share of the error within groups that the map removed", "{:.2f}"),
    ("rank_correlation", "rank correlation within groups", "{:.2f}"),
    ("anchor_weight", "weight of an anchor", "{:.2f}"),
)


def cost_rows(runs: Sequence[RunData]) -> Rows:
    """A row for each figure that some run has, a cell for each run."""
    rows = []
    for name, label, form in _COST:
        values = [run.last.get(name) for run in runs]
        if any(value is not None for value in values):
            rows.append((label, *(_cell(value, form) for value in values)))
    return rows


def score_rows(runs: Sequence[RunData]) -> Rows:
    """The final evaluation by real executions: a row for each task, before and after."""
    tasks = dict.fromkeys(task for run in runs for task in run.result.get("after", {}))
    rows = []
    for task in tasks:
        cells = []
        for run in runs:
            for when in ("before", "after"):
                scores = run.result.get(when, {}).get(task, [])
                cells.append(f"{np.mean(scores):.3f}" if scores else "")
        rows.append((task or "all episodes", *cells))
    return rows


def setting_rows(runs: Sequence[RunData]) -> Rows:
    """The arguments; of several runs only those in which they differ."""
    names = dict.fromkeys(name for run in runs for name in run.config)
    rows = []
    for name in names:
        values = tuple(_argument(run.config.get(name)) for run in runs)
        if len(runs) == 1 or len(set(values)) > 1:
            rows.append((name, *values))
    return rows


def version_rows(runs: Sequence[RunData]) -> Rows:
    """The versions that each run was made with."""
    names = dict.fromkeys(name for run in runs for name in run.versions)
    return [(name, *(run.versions.get(name, "") for run in runs)) for name in names]


def _cell(value: float | None, form: str) -> str:
    return "" if value is None or math.isnan(value) else form.format(value)


def _argument(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return "" if value is None else str(value)
