"""Results of arms, made by hand."""

from __future__ import annotations

from typing import Any

from wmrl_gym.benchmark.results import ArmResult


def make_result(arm: str, seed: int, *, score: float = 0.8, **changes: Any) -> ArmResult:
    """A result whose scores are `score` on the tasks `a` and `b`, and half of it on `c`."""
    fields: dict[str, Any] = {
        "scenario": "toy",
        "arm": arm,
        "seed": seed,
        "setting": {"groups": 64},
        "before": {"a": 0.4, "b": 0.4, "c": 0.4},
        "after": {"a": score, "b": score, "c": score / 2},
        "held_out": ("c",),
        "curve": {
            "groups": [8.0 * i for i in range(1, 9)],
            "executions": [64.0 * i for i in range(1, 9)],
            "seconds": [10.0 * i for i in range(1, 9)],
            "score": [0.4 + 0.05 * i for i in range(1, 9)],
        },
        "executions": 512.0,
        "seconds": 80.0,
        "core_seconds": 160.0,
        "groups": 64,
    }
    return ArmResult(**fields | changes)
