"""The rungs of the ladder."""

from __future__ import annotations

import pytest

from wmrl_gym import Status
from wmrl_gym.envs.mle.ladder import ladder


@pytest.mark.parametrize(
    ("status", "score"),
    [
        (Status.MALFORMED, 0.0),
        (Status.CRASHED, 0.1),
        (Status.TIMED_OUT, 0.1),
        (Status.OUT_OF_MEMORY, 0.1),
        (Status.NO_RESULT, 0.2),
        (Status.INVALID_RESULT, 0.2),
        (Status.UNSCORED, None),
    ],
)
def test_rungs_below_a_valid_result(status: Status, score: float | None) -> None:
    assert ladder(status) == score


@pytest.mark.parametrize(("position", "score"), [(0.0, 0.5), (0.4, 0.7), (1.0, 1.0)])
def test_rungs_of_a_valid_result(position: float, score: float) -> None:
    assert ladder(Status.COMPLETED, position) == pytest.approx(score)


@pytest.mark.parametrize("position", [None, -0.1, 1.1, float("nan")])
def test_a_valid_result_needs_a_position(position: float | None) -> None:
    with pytest.raises(ValueError, match="position="):
        ladder(Status.COMPLETED, position)


def test_every_status_has_a_rung() -> None:
    assert all(ladder(status, 0.5) is not None for status in Status if status != Status.UNSCORED)
