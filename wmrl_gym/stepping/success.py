"""Whether a step achieved the task: the field has several names for it, and no common one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wmrl_gym.errors import UnsupportedEnvironmentError

SUCCESS_KEYS = ("is_success", "success", "task_success")
"""Names of the flag in `info`, in the order in which they are looked up."""
REMAINING_KEY = "tasks_to_complete"
"""Where Franka Kitchen lists what is left to do; an empty list is success."""


def step_success(info: Mapping[str, Any]) -> bool:
    """Whether the task is achieved in the state after a step.

    Never inferred from `terminated`: an environment may end an episode for a failure.

    Args:
        info: What the step gave.

    Raises:
        UnsupportedEnvironmentError: If `info` has none of the names.
    """
    for key in SUCCESS_KEYS:
        if key in info:
            return bool(info[key])
    if REMAINING_KEY in info:
        return len(info[REMAINING_KEY]) == 0
    raise UnsupportedEnvironmentError(
        f"info has none of {[*SUCCESS_KEYS, REMAINING_KEY]}, only {sorted(info)}: choose another "
        "score, 'return' with score_bounds or 'package.module:function', or add the flag by a "
        "wrapper"
    )


def known_success(info: Mapping[str, Any]) -> bool:
    """The same where success is of no account: False if `info` does not say."""
    return any(key in info for key in (*SUCCESS_KEYS, REMAINING_KEY)) and step_success(info)
