"""The tables that an evaluation of a language model ends in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Column, Table

from wmrl_gym.agents.llm.results import TaskResult, any_medal, stratified_mean

_TITLE = "True score by real executions (mean, 95 % interval over attempts)"


def score_table(results: Sequence[TaskResult], *, attempts: int) -> Table:
    """How good a model is: one line for each task, one for all.

    Args:
        results: At least one.
        attempts: How many were asked for.
    """
    table = Table("task", f"mean of {attempts}", "best", "position", "medals", title=_TITLE)
    for one in results:
        count = len(one.scores)
        table.add_row(
            one.task + ("" if count == attempts else f" ({count} only)"),
            score_cell([one.scores]),
            f"{max(one.scores):.3f}",
            f"{np.mean(one.positions):.3f}",
            _medals(one.medals),
        )
    table.add_section()
    table.add_row(
        "all tasks",
        score_cell([one.scores for one in results]),
        f"{np.mean([max(one.scores) for one in results]):.3f}",
        f"{np.mean([np.mean(one.positions) for one in results]):.3f}",
        _headline(results),
        style="bold",
    )
    return table


def effort_table(results: Sequence[TaskResult]) -> Table:
    """What the attempts took, and how their executions ended."""
    table = Table(Column("task", no_wrap=True), "turns", "tokens", "model s", "run s", "runs ended")
    rows = [(one.task, one.to_dict()) for one in results]
    for task, figures in rows:
        table.add_row(task, *_effort(figures), _statuses(figures["statuses"]))
    table.add_section()
    total = {name: sum(figures[name] for _, figures in rows) for name in _EFFORTS}
    statuses = sum((Counter(figures["statuses"]) for _, figures in rows), Counter[str]())
    table.add_row("all tasks", *_effort(total), _statuses(statuses), style="bold")
    return table


def before_and_after(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]
) -> Table:
    """One line for each task, one for all: scores of a model before and after training."""
    table = Table("task", "before", "after", title=_TITLE)
    for task in before:
        table.add_row(task, score_cell([before[task]]), score_cell([after[task]]))
    table.add_section()
    cells = [score_cell(list(scores.values())) for scores in (before, after)]
    table.add_row("all tasks", *cells, style="bold")
    return table


def score_cell(scores: Sequence[Sequence[float]]) -> str:
    """Mean over tasks and its interval; see `stratified_mean`."""
    mean, low, high = stratified_mean(scores)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


_EFFORTS = ("turns", "tokens", "seconds_model", "seconds_executing")


def _effort(figures: Mapping[str, float]) -> list[str]:
    return [f"{figures[name]:.0f}" for name in _EFFORTS]


def _headline(results: Sequence[TaskResult]) -> str:
    medals = any_medal(results)
    if medals is None:
        return ""
    error = medals.standard_error
    return f"any: {medals.mean:.1f} %" + ("" if error is None else f" ± {error:.1f}")


def _medals(medals: Mapping[str, int] | None) -> str:
    if medals is None:
        return "no board"
    return ", ".join(f"{count} {kind}" for kind, count in medals.items() if count) or "none"


def _statuses(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in ordered) or "none"
