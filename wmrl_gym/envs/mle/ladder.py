"""The score ladder: one number in [0, 1] for every way that an execution can end."""

from __future__ import annotations

from wmrl_gym.outcomes import Status

_RUNGS = {
    Status.MALFORMED: 0.0,
    Status.CRASHED: 0.1,
    Status.TIMED_OUT: 0.1,
    Status.OUT_OF_MEMORY: 0.1,
    Status.NO_RESULT: 0.2,
    Status.INVALID_RESULT: 0.2,
}


def ladder(status: Status, position: float | None = None) -> float | None:
    """The score of an outcome, by the ladder of the paper (arXiv 2608.12564, section 4.1).

    Args:
        status: How the execution ended.
        position: Position in [0, 1]; needed for `COMPLETED`, without effect otherwise.

    Returns:
        0 where there was nothing to run, 0.1 for a crash, timeout or memory limit, 0.2 for a
        run without a valid result, 0.5 + 0.5 `position` for a valid result, `None` for
        `UNSCORED`.

    Raises:
        ValueError: If a completed outcome comes without a position in [0, 1].
    """
    if status is Status.UNSCORED:
        return None
    if status is not Status.COMPLETED:
        return _RUNGS[status]
    if position is None or not 0.0 <= position <= 1.0:
        raise ValueError(f"position={position!r} of a completed outcome has to be in [0, 1]")
    return 0.5 + 0.5 * position
