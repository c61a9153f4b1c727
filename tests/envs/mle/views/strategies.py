"""Scores and leaderboards of every shape that the views have to cope with."""

from __future__ import annotations

from hypothesis import strategies as st

# Few distinct values: real leaderboards are full of ties.
scores = st.integers(-50, 50).map(lambda tenths: tenths / 10)
leaderboards = st.lists(scores, min_size=1, max_size=300)
directions = st.booleans()


def negated(board: list[float]) -> list[float]:
    """The same leaderboard under a metric of the opposite direction."""
    return [-score for score in board]
