"""Kaggle's medals by MLE-bench's rules: rank by number of teams, then a score to reach.

| teams | gold | silver | bronze |
|---|---|---|---|
| 1-99 | top 10 % | top 20 % | top 40 % |
| 100-249 | top 10 | top 20 % | top 40 % |
| 250-999 | top 10 + 0.2 % | top 50 | top 100 |
| 1000 and more | top 10 + 0.2 % | top 5 % | top 10 % |

Shares are rounded down, to rank 1 at the least. The score at that rank is the threshold, and
reaching it is enough.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from wmrl_gym.envs.mle.views.comparison import best_first, better, finite


@dataclass(frozen=True, kw_only=True)
class MedalThresholds:
    """Scores to reach, and which way is better.

    Raises:
        ValueError: If one is NaN or infinite, or a lesser medal asks for more.
    """

    gold: float
    silver: float
    bronze: float
    median: float
    """To be beaten for `Medals.above_median`; to be reached in SandMLE's reward."""
    higher_is_better: bool

    def __post_init__(self) -> None:
        for name in ("gold", "silver", "bronze", "median"):
            object.__setattr__(self, name, finite(name, getattr(self, name)))
        if self._asks_more(self.silver, self.gold) or self._asks_more(self.bronze, self.silver):
            raise ValueError(
                f"gold={self.gold}, silver={self.silver}, bronze={self.bronze} must go from best "
                f"to worst; higher_is_better={self.higher_is_better} may be wrong"
            )

    def _asks_more(self, lesser: float, greater: float) -> bool:
        return better(lesser, greater, higher_is_better=self.higher_is_better)


@dataclass(frozen=True, kw_only=True)
class Medals:
    """What a score earns. At most one medal, the best that it reaches."""

    gold_medal: bool = False
    silver_medal: bool = False
    bronze_medal: bool = False
    above_median: bool = False
    """Strictly better than the leaderboard's median."""

    @property
    def any_medal(self) -> bool:
        """Whether there is a medal."""
        return self.gold_medal or self.silver_medal or self.bronze_medal


def medal_ranks(teams: int) -> tuple[int, int, int]:
    """Last ranks, counted from 1, that get gold, silver and bronze.

    Raises:
        ValueError: If `teams` is below 1.
    """
    if teams < 1:
        raise ValueError(f"teams={teams} must be at least 1")
    # Whole numbers throughout: a share of a float may round to the rank below.
    if teams < 100:
        return max(1, teams // 10), max(1, teams // 5), max(1, 2 * teams // 5)
    if teams < 250:
        return 10, teams // 5, 2 * teams // 5
    gold = 10 + teams // 500
    return (gold, 50, 100) if teams < 1000 else (gold, teams // 20, teams // 10)


def medal_thresholds(leaderboard: Sequence[float], *, higher_is_better: bool) -> MedalThresholds:
    """The scores to reach on a leaderboard.

    Args:
        leaderboard: `[N]` scores of all teams, in any order.
        higher_is_better: Direction of the metric.

    Raises:
        ValueError: If the leaderboard is empty, or a score is NaN or infinite.
    """
    board = best_first("leaderboard", leaderboard, higher_is_better=higher_is_better)
    gold, silver, bronze = medal_ranks(len(board))
    return MedalThresholds(
        gold=board[gold - 1],
        silver=board[silver - 1],
        bronze=board[bronze - 1],
        median=statistics.median(board),
        higher_is_better=higher_is_better,
    )


def award(score: float | None, thresholds: MedalThresholds) -> Medals:
    """The medal of a score.

    Args:
        score: The metric; `None` without a valid submission, which earns nothing.
        thresholds: The scores to reach.

    Raises:
        ValueError: If the score is NaN or infinite.
    """
    if score is None:
        return Medals()
    value = finite("score", score)
    direction = thresholds.higher_is_better
    reached = [
        not better(threshold, value, higher_is_better=direction)
        for threshold in (thresholds.gold, thresholds.silver, thresholds.bronze)
    ]
    best = reached.index(True) if any(reached) else None
    return Medals(
        gold_medal=best == 0,
        silver_medal=best == 1,
        bronze_medal=best == 2,
        above_median=better(value, thresholds.median, higher_is_better=direction),
    )


def medal_reward(score: float | None, *, thresholds: MedalThresholds) -> float:
    """1 for any medal, which is what MLE-bench's headline counts, and 0 for none.

    Raises:
        ValueError: If the score is NaN or infinite.
    """
    return float(award(score, thresholds).any_medal)
