"""The arms of a study: what is changed from the method as it is, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wmrl_gym.errors import WMRLError

REFERENCE = "real"
"""Every group executed: what the others are compared with."""

ARMS: Mapping[str, Mapping[str, Any]] = {
    REFERENCE: {"world_model": "none"},
    "model": {"anchor_fraction": 0.0, "debias": False, "denoise": False},
    "anchors": {"debias": False, "denoise": False},
    "debias": {"denoise": False},
    "denoise": {"debias": False},
    "both": {},
    "powered": {"fusion": "prediction_powered"},
    "exponent": {"weight_exponent": 0.5},
    "adaptive": {"max_anchor_fraction": 0.5},
    "allocated": {"fusion": "prediction_powered", "allocate": True},
    "features": {"learn_errors": True},
}
"""Changes of a scenario's configuration. `model` trusts the world model alone; `anchors` mixes in
executed groups but corrects nothing; `both` is the method of the paper; the five last are the
options beyond it."""

ABLATION = ("anchors", "denoise", "debias", "both")
"""The 2 x 2 table: neither, one, the other, both."""
MAIN = (REFERENCE, "model", *ABLATION)
"""The arms of the paper's tables."""


def changes(arm: str) -> Mapping[str, Any]:
    """What an arm changes.

    Raises:
        WMRLError: If there is no such arm.
    """
    if arm not in ARMS:
        raise WMRLError(f"arm={arm!r} is unknown: choose from {list(ARMS)}")
    return ARMS[arm]
