"""Reading an agent's action, which may be anything: a bad action never raises."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

ACTION_SIZE = 7
"""dx, dy, dz, three of a turn as axis-angle, and the gripper (-1 opens, 1 closes)."""


def read_action(action: ArrayLike) -> tuple[NDArray[np.float64], bool]:
    """The motion that `action` stands for, `[7]` within [-1, 1], and whether it was bad.

    Too large entries are clipped. Entries that are not numbers, and actions of another size or
    that are no numbers at all, count as no motion.
    """
    try:
        motion = np.array(action, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(ACTION_SIZE), True
    if motion.shape != (ACTION_SIZE,):
        return np.zeros(ACTION_SIZE), True
    # Fails for NaN too; the usual action passes with one comparison.
    if np.abs(motion).max() <= 1.0:
        return motion, False
    return np.clip(np.nan_to_num(motion, nan=0.0), -1.0, 1.0), True
