"""AIRS-Bench's normalised score: orders of magnitude of the distance to the optimum."""

from __future__ import annotations

import math

from wmrl_gym.envs.mle.views.comparison import better, finite

NEAREST = 1e-6
"""Distances to the optimum below this share of the worst score's count as it.

The formula is infinite at the optimum, which an agent can reach.
"""


def normalised_score(
    score: float | None,
    *,
    worst: float,
    state_of_the_art: float,
    optimum: float,
    higher_is_better: bool,
) -> float:
    """The normalised score: (phi(s) - phi(worst)) / (phi(sota) - phi(worst)).

    phi(s) = -log10 |s - optimum|, so that halving the distance counts the same anywhere.

    Args:
        score: The metric; `None` without a valid submission, which counts as the worst.
        worst: Worst score that counts, which is normalised to 0.
        state_of_the_art: Best published score, which is normalised to 1.
        optimum: Best score there can be.
        higher_is_better: Direction of the metric.

    Returns:
        Negative for what is worse than `worst`, above 1 for what is better than
        `state_of_the_art`; finite at the optimum.

    Raises:
        ValueError: If the scores are not in the order worst, state of the art, optimum, if
            the score is better than the optimum, or if a number is NaN or infinite.
    """
    low, high = finite("worst", worst), finite("state_of_the_art", state_of_the_art)
    top = finite("optimum", optimum)
    if not (_better(high, low, higher_is_better) and _better(top, high, higher_is_better)):
        raise ValueError(
            f"worst={low}, state_of_the_art={high}, optimum={top} must get better in this order; "
            f"higher_is_better={higher_is_better} may be wrong"
        )
    if score is None:
        return 0.0
    value, farthest = finite("score", score), abs(low - top)
    distance = abs(value - top)
    if distance < NEAREST * farthest:
        distance = NEAREST * farthest
    elif _better(value, top, higher_is_better):
        raise ValueError(f"score={value} is better than optimum={top}")
    return math.log(farthest / distance) / math.log(farthest / abs(high - top))


def _better(one: float, other: float, higher_is_better: bool) -> bool:
    return better(one, other, higher_is_better=higher_is_better)
