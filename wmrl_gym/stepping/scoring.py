"""The score of an episode: one number, from what really happened or from what was imagined."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from wmrl_gym.episodes import EpisodeRecord

ScoreFunction = Callable[[EpisodeRecord], float]
"""Scores an episode within the bounds; NaN where there is no score."""

SUCCESS = "success"
RETURN = "return"


@dataclass(frozen=True)
class ScoreRule:
    """What an episode is worth.

    `"success"`: 1 if the task was achieved after any step, else 0. `"return"`: the sum of the
    rewards, clipped to `bounds`. Otherwise what `function` says of the recorded episode.
    """

    kind: str
    """`"success"`, `"return"` or `"function"`."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest score."""
    function: ScoreFunction | None = None

    @property
    def by_success(self) -> bool:
        """Whether the flag of success decides, so that `info` must have one."""
        return self.kind == SUCCESS

    @property
    def dense(self) -> bool:
        """Whether single steps carry rewards that add up to the score."""
        return self.kind == RETURN

    def true(self, episode: EpisodeRecord) -> float:
        """Score of an episode that really happened; NaN where the user's function gives none.

        Raises:
            ValueError: If the user's function leaves the bounds.
        """
        return self._score(episode, float(episode.success_once))

    def imagined(self, episode: EpisodeRecord, success: float) -> float:
        """Score of an episode that was imagined.

        Args:
            episode: What was imagined.
            success: Highest probability of success after any step, in `[0, 1]`.
        """
        return self._score(episode, success)

    def of_share(self, share: float) -> float:
        """The score at `share` of the way through the bounds; a reward model gives shares."""
        low, high = self.bounds
        return low + (high - low) * share

    def _score(self, episode: EpisodeRecord, success: float) -> float:
        if self.kind == SUCCESS:
            return success
        if self.function is None:
            return float(np.clip(episode.total_reward, *self.bounds))
        score = float(self.function(episode))
        if score < self.bounds[0] or score > self.bounds[1]:
            raise ValueError(
                f"score={self.function} gave {score}, outside score_bounds={self.bounds}: declare "
                "the bounds of its scores"
            )
        return score


def make_score_rule(
    score: str | ScoreFunction, score_bounds: Sequence[float] | None = None
) -> ScoreRule:
    """The rule of that name.

    Args:
        score: `"success"`, `"return"`, `"package.module:function"`, or a function.
        score_bounds: Lowest and highest score; `"return"` needs them, `"success"` has [0, 1].

    Raises:
        ValueError: If the name is unknown or the bounds do not fit.
    """
    if score == SUCCESS:
        if score_bounds is not None and tuple(score_bounds) != (0.0, 1.0):
            raise ValueError(f"score_bounds={score_bounds} must be left out: success is 0 or 1")
        return ScoreRule(SUCCESS)
    if score == RETURN:
        if score_bounds is None:
            raise ValueError(
                "score='return' needs score_bounds=(lowest, highest) return of an episode"
            )
        return ScoreRule(RETURN, _bounds(score_bounds))
    function = _function(score) if isinstance(score, str) else score
    return ScoreRule("function", _bounds(score_bounds or (0.0, 1.0)), function)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    if len(values) != 2 or not np.isfinite(values).all() or not values[0] < values[1]:
        raise ValueError(f"score_bounds={values!r} must be two finite numbers, the lower one first")
    return float(values[0]), float(values[1])


def _function(entry_point: str) -> ScoreFunction:
    module, colon, name = entry_point.partition(":")
    if not colon:
        raise ValueError(
            f"score={entry_point!r} must be 'success', 'return' or 'package.module:function'"
        )
    function: Any = getattr(importlib.import_module(module), name)
    return cast(ScoreFunction, function)
