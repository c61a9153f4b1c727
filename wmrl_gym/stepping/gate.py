"""The gate: a task is imagined only where anchors show that its predictions are worth something.

Predictions that rank episodes no better than chance would train the agent on noise. So until
the pairs of predicted and true scores prove the opposite, a task's groups run for real. A
useless model then costs speed, never correctness.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.world_models.dynamics.validity import Interval, score_concordance

_log = logging.getLogger(__name__)

MIN_PAIRS = 20
"""Pairs of a task below which nothing is concluded."""
WINDOW = 50
"""Pairs that count, the latest of each kind (failures, successes, scores in between): the model
learns, and old ones speak of an older model. A policy that nearly always succeeds must not push
the last failures out, without which nothing can be concluded; the measure itself does not
depend on how many there are of each."""
_ALIKE = 0.05
"""Share of the range of true scores, at each end, within which they count as equally bad or equally
good: no model can tell the successes of a trained policy apart, nor need it."""


class _Task:
    """What is known of one task."""

    def __init__(self) -> None:
        self.open = False
        self.pairs: list[tuple[float, float]] = []
        """Predicted and true scores that count, the oldest first."""

    def add(self, predicted: float, true: float) -> None:
        self.pairs.append((predicted, true))
        achieved = self._achieved()
        kinds = np.floor(achieved) + np.ceil(achieved)  # 0 bad, 1 between, 2 good
        for index in np.flatnonzero(kinds == kinds[-1])[:-WINDOW][::-1]:
            del self.pairs[index]

    def interval(self) -> Interval:
        return score_concordance([predicted for predicted, _ in self.pairs], self._achieved())

    def _achieved(self) -> npt.NDArray[np.float64]:
        """`[N]` true scores as shares of their range; 0 and 1 near its ends."""
        true = np.array([score for _, score in self.pairs])
        share = (true - true.min()) / (np.ptp(true) or 1.0)
        return np.where(share <= _ALIKE, 0.0, np.where(share >= 1.0 - _ALIKE, 1.0, share))


class ValidityGate:
    """Says for each task whether it may be imagined.

    The measure is the share of pairs of episodes that the predictions put in the right order;
    for scores of 0 and 1 it is the area under the ROC curve. What counts is the lower end of
    its 95 % interval, which few pairs, or few successes, keep low.

    Args:
        threshold: The lower end from which on a task may be imagined, in `[0, 1]`. With 0
            there is no gate.

    Raises:
        ValueError: If `threshold` is out of its range.
    """

    def __init__(self, threshold: float = 0.7) -> None:
        if not 0.0 <= threshold < 1.0:
            raise ValueError(f"gate_threshold={threshold!r} must lie in [0, 1)")
        self.threshold = threshold
        self._tasks: dict[str, _Task] = {}

    def is_open(self, task: str) -> bool:
        """Whether groups of `task` that are no anchors may be imagined."""
        if self.threshold == 0.0:
            return True
        return task in self._tasks and self._tasks[task].open

    def record(self, task: str, predicted: float, true: float) -> None:
        """Take note of a pair of scores; `decide` draws the conclusion."""
        self._tasks.setdefault(task, _Task()).add(predicted, true)

    def decide(self, *, calibrated: bool) -> None:
        """Open and close tasks by their latest pairs; call it between batches only.

        Args:
            calibrated: Whether the correction's map stands on pairs yet. While it does not,
                predictions would be taken at face value, and nothing opens.
        """
        for name, task in self._tasks.items():
            lower = task.interval().lower
            open_now = calibrated and len(task.pairs) >= MIN_PAIRS and lower >= self.threshold
            if open_now != task.open and self.threshold > 0.0:
                _log_change(name, open_now, lower, self.threshold, len(task.pairs))
            task.open = open_now

    def diagnostics(self) -> dict[str, float]:
        """`gate/open`, the share of tasks that may be imagined, and figures of each task."""
        figures: dict[str, float] = {}
        for name, task in self._tasks.items():
            interval, place = task.interval(), f"gate/{name}/" if name else "gate/task/"
            figures[f"{place}open"] = float(self.is_open(name))
            figures[f"{place}concordance"] = interval.value
            figures[f"{place}lower"] = interval.lower
            figures[f"{place}pairs"] = float(len(task.pairs))
        opened = [self.is_open(name) for name in self._tasks]
        return {"gate/open": sum(opened) / len(opened) if opened else 0.0, **figures}

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs."""
        return {
            name: {"pairs": list(task.pairs), "open": task.open}
            for name, task in self._tasks.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._tasks = {}
        for name, task in state.items():
            for predicted, true in task["pairs"]:
                self.record(name, predicted, true)
            self._tasks[name].open = bool(task["open"])


def _log_change(task: str, opened: bool, lower: float, threshold: float, pairs: int) -> None:
    _log.log(
        logging.INFO if opened else logging.WARNING,
        "%s %s: its predictions rank episodes rightly in at least %.2f of the cases, the "
        "threshold is %.2f (95 %% interval, %d pairs)",
        f"task {task!r}" if task else "the environment",
        "may be imagined" if opened else "runs for real again",
        lower,
        threshold,
        pairs,
    )
