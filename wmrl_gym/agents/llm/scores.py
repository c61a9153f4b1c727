"""What a trainer is told about an episode of a group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmrl_gym.outcomes import Source


@dataclass(frozen=True)
class Score:
    """The reward of one episode and the weight of its group in the policy gradient.

    All members of a group have one `weight` and one `source`.
    """

    group: int
    reward: float | None
    """Real score of an anchor, calibrated prediction of the others; `None` where we failed to
    score the episode. That is not 0: leave the episode out of its group's mean."""
    weight: float
    """At least 0. Multiplies the advantage after it is normalised, never the reward."""
    source: Source
    """`REAL`, `PREDICTED`, or `NONE` for a group that executed nothing."""
    anchor: bool
    predicted: float | None
    """What the world model said; `None` if it was not asked or did not answer."""
    calibrated: float | None
    """`predicted` after the map of the correction."""
    true: float | None
    """What real executions gave; `None` if there were none."""
    seconds: float
    """Durations of the executions, real or predicted, summed."""
    version: int
    """Of the map and the weight that the group was scored with."""


def group_scores(
    infos: Sequence[Mapping[str, Any]], rewards: Sequence[float | None]
) -> list[Score]:
    """The scores of a batch of finished episodes.

    A member that executed nothing (its text could not be read, say) has no route of its own
    and takes the weight and the source of its group.

    Args:
        infos: `[B]` what `AnchoredExecutor.info` says of each episode.
        rewards: `[B]` its return; `None` where it has no score.

    Returns:
        `[B]` scores, in the same order.
    """
    weights: dict[int, float] = {}
    sources: dict[int, int] = {}
    for info in infos:
        group = info["wmrl/group"]
        # Anchors weigh at least 1, which is also what an episode without a route says.
        weights[group] = max(weights.get(group, 1.0), info["wmrl/weight"])
        sources[group] = max(sources.get(group, int(Source.NONE)), info["wmrl/source"])
    return [
        Score(
            group=(group := info["wmrl/group"]),
            reward=reward,
            weight=weights[group],
            source=Source(sources[group]),
            anchor=info["wmrl/anchor"],
            predicted=_number(info["wmrl/score_predicted"]),
            calibrated=_number(info["wmrl/score_calibrated"]),
            true=_number(info["wmrl/score_true"]),
            seconds=info["wmrl/seconds"],
            version=info["wmrl/version"],
        )
        for info, reward in zip(infos, rewards, strict=True)
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
