"""The arms of a study: what is changed from the method as it is, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    "online": {"world_model": "surrogate"},
    "longer": {"times": 2},
}
"""Changes of a scenario's configuration. `model` trusts the world model alone; `anchors` mixes in
executed groups but corrects nothing; `both` is the method of the paper; the others are the
options beyond it. `features` learns the world model's errors from what describes a solution;
`online` has no world model to begin with, and learns one from the run's own anchors; `longer` is
the method with twice the groups, which some of the time saved can buy."""

ABLATION = ("anchors", "denoise", "debias", "both")
"""The 2 x 2 table: neither, one, the other, both."""
MAIN = (REFERENCE, "model", *ABLATION)
"""The arms of the paper's tables."""


@dataclass(frozen=True)
class Sweep:
    """A dial that is turned from one end to the other, all else being equal."""

    field: str
    """What it changes in a configuration."""
    values: Sequence[float]
    pattern: str = ""
    """The text that the value is put into; the value itself if empty."""
    label: str = ""
    """Of an axis."""
    by_quality: bool = False
    """Whether it is drawn over the rank correlation that came of it."""

    def change(self, value: float) -> Mapping[str, Any]:
        """What a value changes."""
        return {self.field: self.pattern.format(value) if self.pattern else value}


SWEEPS: Mapping[str, Sweep] = {
    "anchors": Sweep(
        "anchor_fraction", (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0), label="share of anchors"
    ),
    "noise": Sweep(
        "world_model",
        (0.0, 0.1, 0.2, 0.4, 0.8, 1.6),
        pattern="synthetic:noise={}",
        label="within-group rank correlation on anchors",
        by_quality=True,
    ),
}
"""Dials by name. An arm with a dial is called like `both@anchors=0.2`."""


def swept(arms: Sequence[str], sweep: str) -> tuple[str, ...]:
    """The arms at every value of a dial, and the reference.

    Raises:
        WMRLError: If there is no such dial.
    """
    if sweep not in SWEEPS:
        raise WMRLError(f"sweep={sweep!r} is unknown: choose from {list(SWEEPS)}")
    values = SWEEPS[sweep].values
    dialled = [arm for arm in arms if arm != REFERENCE]
    return (REFERENCE, *(f"{arm}@{sweep}={value:g}" for arm in dialled for value in values))


def times(arm: str) -> int:
    """How many times as many groups as the others an arm trains on."""
    found: int = ARMS.get(arm, {}).get("times", 1)
    return found


def dial_of(arm: str) -> tuple[str, str, float] | None:
    """Arm, dial and value of a name like `both@anchors=0.2`; `None` for a plain name."""
    base, at, dial = arm.partition("@")
    name, _, value = dial.partition("=")
    return (base, name, float(value)) if at else None


def changes(arm: str) -> Mapping[str, Any]:
    """What an arm changes.

    Raises:
        WMRLError: If there is no such arm or dial.
    """
    try:
        dial = dial_of(arm)
    except ValueError:
        raise WMRLError(f"arm={arm!r} must look like both@anchors=0.2") from None
    base, turned = (arm, {}) if dial is None else (dial[0], _turned(*dial[1:]))
    if base not in ARMS:
        raise WMRLError(f"arm={arm!r} is unknown: choose from {list(ARMS)}")
    return {**ARMS[base], **turned}


def _turned(sweep: str, value: float) -> Mapping[str, Any]:
    if sweep not in SWEEPS:
        raise WMRLError(f"dial={sweep!r} is unknown: choose from {list(SWEEPS)}")
    return SWEEPS[sweep].change(value)
