"""Reading actions: whatever an agent sends is a motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wmrl_gym.envs.vla.actions import read_action

NAN = float("nan")


def test_a_good_action_is_taken_as_it_is() -> None:
    given = np.array([0.5, -1.0, 1.0, 0.0, 0.25, -0.25, 1.0], np.float32)
    motion, bad = read_action(given)
    assert motion.tolist() == given.tolist()
    assert not bad
    motion[0] = 9.0
    assert given[0] == 0.5


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ([2.0, -3.0, 0.5, 0, 0, 0, 0], [1.0, -1.0, 0.5, 0, 0, 0, 0]),
        ([NAN, 0.5, 0, 0, 0, 0, NAN], [0, 0.5, 0, 0, 0, 0, 0]),
        ([float("inf"), -float("inf"), 0, 0, 0, 0, 0], [1.0, -1.0, 0, 0, 0, 0, 0]),
        ([NAN, 5.0, 0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0, 0]),
        ([1.0] * 6, [0.0] * 7),
        ([[1.0] * 7], [0.0] * 7),
        ([], [0.0] * 7),
        (1.0, [0.0] * 7),
        (None, [0.0] * 7),
        ("forwards", [0.0] * 7),
        ([1.0, [2.0]], [0.0] * 7),
        ({"x": 1}, [0.0] * 7),
    ],
)
def test_a_bad_action_is_clipped_or_no_motion(action: Any, expected: list[float]) -> None:
    motion, bad = read_action(action)
    assert motion.tolist() == expected
    assert bad
