"""Groups for trainers in the shape of Tinker's cookbook: `compute_group_rewards`.

Those trainers subtract the mean of a group from its rewards and divide by nothing. So the weight
of a group may be multiplied into its rewards, which makes it the weight of its advantages,
exactly; with advantages that are divided by their standard deviation it would do nothing.
Neither `tinker` nor `tinker_cookbook` is imported here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmrl_gym.agents.llm.finished import FinishedRollouts
from wmrl_gym.agents.llm.scorer import GroupScorer
from wmrl_gym.agents.llm.scores import Score
from wmrl_gym.outcomes import Source

Metrics = dict[str, float]


@dataclass(frozen=True)
class TinkerGroup:
    """What an `EnvGroupBuilder` of one group calls when its rollouts have ended.

    Let its environments give no reward of their own: a trajectory's reward is the sum of both.
    """

    task: str
    group: int
    decode: Callable[[Sequence[int]], str]
    """The text of the tokens of an action."""
    rollouts: FinishedRollouts

    async def compute_group_rewards(
        self, trajectory_group: Sequence[Any], env_group: Sequence[Any] = ()
    ) -> list[tuple[float, Metrics]]:
        """The reward of each trajectory, weighted, and what to log.

        A trajectory that could not be scored gets the mean of the others, whose advantage is 0;
        `wmrl/unscorable` counts it.

        Args:
            trajectory_group: `[G]` trajectories: `transitions`, each with the tokens of its
                action at `ac.tokens`.
            env_group: `[G]` environments; not used.
        """
        said = [
            [self.decode(transition.ac.tokens) for transition in trajectory.transitions]
            for trajectory in trajectory_group
        ]
        # It may take minutes: other groups go on with their rollouts meanwhile.
        scores = await asyncio.to_thread(self.rollouts.score, self.task, self.group, said)
        return weighted_rewards(scores, mean_weight=self.rollouts.mean_weight)


class TinkerGroups:
    """Makes the groups of a batch: to be called where `RLDataset.get_batch` makes its builders.

    Args:
        scorer: Scores the rollouts; nothing else may use it meanwhile.
        decode: The text of the tokens of an action, without special tokens.
    """

    def __init__(self, scorer: GroupScorer, decode: Callable[[Sequence[int]], str]) -> None:
        self._rollouts = FinishedRollouts(scorer)
        self._decode = decode

    def batch(self, tasks: Sequence[str]) -> list[TinkerGroup]:
        """One group for each of `[N]` tasks. Feeds back the anchors of the batch before."""
        groups = self._rollouts.next_batch(len(tasks))
        return [
            TinkerGroup(task, group, self._decode, self._rollouts)
            for task, group in zip(tasks, groups, strict=True)
        ]


def weighted_rewards(
    scores: Sequence[Score], *, mean_weight: float = 1.0
) -> list[tuple[float, Metrics]]:
    """The rewards of one group for a trainer that centres them and divides by nothing.

    Args:
        scores: `[G]` scores.
        mean_weight: What weights are divided by, so that the step size stays.
    """
    known = [score.reward for score in scores if score.reward is not None]
    mean = float(np.mean(known)) if known else 0.0
    return [
        (
            score.weight / mean_weight * (mean if score.reward is None else score.reward),
            _metrics(score),
        )
        for score in scores
    ]


def _metrics(score: Score) -> Metrics:
    numbers = {
        "reward": score.reward,
        "weight": score.weight,
        "predicted": score.predicted,
        "calibrated": score.calibrated,
        "true": score.true,
        "real": float(score.source is Source.REAL),
        "anchor": float(score.anchor),
        "unscorable": float(score.reward is None),
    }
    return {f"wmrl/{name}": value for name, value in numbers.items() if value is not None}
