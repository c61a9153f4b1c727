"""MLE-Dojo's position score, which it also calls HumanRank: the share of teams not ahead."""

from __future__ import annotations

from collections.abc import Sequence

from wmrl_gym.envs.mle.views.comparison import best_first, better, finite


def leaderboard_rank(score: float, leaderboard: Sequence[float], *, higher_is_better: bool) -> int:
    """The place that a score takes on a leaderboard, counted from 1.

    Args:
        score: The metric.
        leaderboard: `[N]` scores of all teams, in any order.
        higher_is_better: Direction of the metric.

    Returns:
        A number from 1 to N + 1. Ties take the best place.

    Raises:
        ValueError: If the leaderboard is empty, or a number is NaN or infinite.
    """
    value = finite("score", score)
    board = best_first("leaderboard", leaderboard, higher_is_better=higher_is_better)
    return 1 + sum(better(other, value, higher_is_better=higher_is_better) for other in board)


def position_score(
    score: float | None,
    private: Sequence[float],
    *,
    public: Sequence[float] | None = None,
    higher_is_better: bool,
) -> float:
    """The position score: (N - rank + 1) / N, averaged over the two leaderboards.

    Args:
        score: The metric; `None` without a valid submission, which gets 0.
        private: `[N]` scores of the private leaderboard, in any order.
        public: `[M]` scores of the public one, in any order; left out of the mean if `None`.
        higher_is_better: Direction of the metric.

    Returns:
        A number in [0, 1]; 1 for whoever is behind nobody, 0 behind everybody.

    Raises:
        ValueError: If a leaderboard is empty, or a number is NaN or infinite.
    """
    if score is None:
        return 0.0
    boards = [private] if public is None else [private, public]
    shares = [_share(score, board, higher_is_better) for board in boards]
    return sum(shares) / len(shares)


def _share(score: float, board: Sequence[float], higher_is_better: bool) -> float:
    rank = leaderboard_rank(score, board, higher_is_better=higher_is_better)
    return (len(board) - rank + 1) / len(board)
