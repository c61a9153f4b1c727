"""A record of the latest anchors, for the figures that warn of a failing world model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wmrl_gym.correction.advantages import degenerate_groups
from wmrl_gym.correction.checks import FloatArray, IntArray
from wmrl_gym.correction.diagnostics import bias_reduction, rank_correlation
from wmrl_gym.correction.prediction_powered import tuned_power

WINDOW = 256
"""Pairs on record: 32 groups of 8, which puts the mean rank correlation within about 0.07."""


class AnchorAudit:
    """Keeps the latest pairs as they were scored when they were fresh (D5, D20).

    It changes nothing in the method; it only watches.
    """

    def __init__(self) -> None:
        self.groups_seen = 0
        """Anchor groups that gave pairs so far."""
        self.usable_groups = 0
        """Those among them whose true scores differ, so that they gave a gradient (D8)."""
        self._predicted: FloatArray = np.zeros(0)
        self._calibrated: FloatArray = np.zeros(0)
        self._true: FloatArray = np.zeros(0)
        self._groups: IntArray = np.zeros(0, dtype=np.int64)

    def record(
        self, predicted: FloatArray, calibrated: FloatArray, true: FloatArray, groups: IntArray
    ) -> None:
        """Add `[N]` fresh pairs; `calibrated` comes from the map from before they were added."""
        seen = len(np.unique(groups))
        self.groups_seen += seen
        self.usable_groups += seen - len(degenerate_groups(true, groups))
        self._predicted = np.concatenate([self._predicted, predicted])[-WINDOW:]
        self._calibrated = np.concatenate([self._calibrated, calibrated])[-WINDOW:]
        self._true = np.concatenate([self._true, true])[-WINDOW:]
        self._groups = np.concatenate([self._groups, groups])[-WINDOW:]

    @property
    def rank_correlation(self) -> float:
        """Within-group rank correlation over the window; NaN before there is any order."""
        return rank_correlation(self._predicted, self._true, self._groups)

    def tuned_power(self) -> float:
        """Lambda of the prediction-powered fusion over the window; see `tuned_power`."""
        return tuned_power(self._calibrated, self._true, self._groups)

    def figures(self) -> dict[str, float]:
        """Return the figures over the window; NaN where there is nothing to compute from."""
        squared = (self._predicted - self._true) ** 2
        return {
            "residual_raw": float(squared.mean()) if squared.size else np.nan,
            "bias_reduction": bias_reduction(
                self._predicted, self._calibrated, self._true, self._groups
            ),
            "rank_correlation": self.rank_correlation,
            "anchor_groups": float(self.groups_seen),
            "usable_anchor_groups": float(self.usable_groups),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the record as plain lists and numbers (D22)."""
        return {
            "groups_seen": self.groups_seen,
            "usable_groups": self.usable_groups,
            "predicted": self._predicted.tolist(),
            "calibrated": self._calibrated.tolist(),
            "true": self._true.tolist(),
            "groups": self._groups.tolist(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.groups_seen = state["groups_seen"]
        self.usable_groups = state["usable_groups"]
        self._predicted = np.array(state["predicted"], dtype=np.float64)
        self._calibrated = np.array(state["calibrated"], dtype=np.float64)
        self._true = np.array(state["true"], dtype=np.float64)
        self._groups = np.array(state["groups"], dtype=np.int64)
