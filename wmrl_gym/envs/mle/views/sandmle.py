"""SandMLE's milestone rewards: for the format, for a valid score, for thresholds reached."""

from __future__ import annotations

from wmrl_gym.envs.mle.views.comparison import better, finite
from wmrl_gym.envs.mle.views.medals import MedalThresholds, award


def milestone_reward(
    score: float | None, *, thresholds: MedalThresholds, format_rate: float
) -> float:
    """The dense reward: 0.2 for a valid score, up to 0.7 for thresholds, 0.1 for the format.

    Thresholds give 0.7 for gold, 0.6 for silver, 0.5 for bronze and 0.1 for the median; the
    best one counts, and reaching it is enough.

    Args:
        score: The metric; `None` without a valid submission. An episode that ran out of time
            is left out of training by SandMLE, not rewarded with 0.
        thresholds: The scores to reach.
        format_rate: Share of the agent's turns in the expected format, in [0, 1].

    Returns:
        A number in [0, 1].

    Raises:
        ValueError: If the score is NaN or infinite, or `format_rate` is out of bounds.
    """
    # In tenths: 0.2 + 0.7 + 0.1 falls short of 1 in floating point.
    tenths = _checked(format_rate)
    if score is not None:
        tenths += 2 + _tenths_of_thresholds(finite("score", score), thresholds)
    return tenths / 10


def sparse_milestone_reward(
    score: float | None, *, thresholds: MedalThresholds, format_rate: float
) -> float:
    """The sparse reward that SandMLE compares with: 0.9 for gold, 0.1 for the format.

    Args:
        score: The metric; `None` without a valid submission.
        thresholds: The scores to reach.
        format_rate: Share of the agent's turns in the expected format, in [0, 1].

    Returns:
        A number in [0, 1].

    Raises:
        ValueError: If the score is NaN or infinite, or `format_rate` is out of bounds.
    """
    return (_checked(format_rate) + 9 * award(score, thresholds).gold_medal) / 10


def _tenths_of_thresholds(score: float, thresholds: MedalThresholds) -> int:
    steps = {7: thresholds.gold, 6: thresholds.silver, 5: thresholds.bronze, 1: thresholds.median}
    direction = thresholds.higher_is_better
    reached = [
        tenths
        for tenths, threshold in steps.items()
        if not better(threshold, score, higher_is_better=direction)
    ]
    return max(reached, default=0)


def _checked(format_rate: float) -> float:
    if not 0.0 <= format_rate <= 1.0:
        raise ValueError(f"format_rate={format_rate!r} must be in [0, 1]")
    return float(format_rate)
