"""A rubric of OpenEnv that rewards whole episodes by the corrected world model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openenv.core.rubrics.trajectory import (  # type: ignore[import-untyped]  # it has no types
    TrajectoryRubric,
)

from wmrl_gym.agents.llm.finished import FinishedRollouts
from wmrl_gym.agents.llm.scores import Score


class GroupRubric(TrajectoryRubric):  # type: ignore[misc]  # the base has no types
    """Rewards an episode when it is done, as a member of its group.

    A rubric sees one episode and no group, and a reward cannot carry a weight: the weight of
    the group is in `score`, and in the `metadata` of the last observation as `wmrl/weight`, for
    the trainer to multiply the advantages by.

    Args:
        rollouts: Scores the episodes; the rubrics of all sessions share one.
        read: What an action says; by default the action itself, or its field `action`.
    """

    def __init__(
        self, rollouts: FinishedRollouts, *, read: Callable[[Any], str] | None = None
    ) -> None:
        super().__init__()
        self._rollouts = rollouts
        self._read = _said if read is None else read
        self._task, self._group = "", 0
        self.score: Score | None = None
        """Of the latest episode that is done."""

    def begin(self, *, task: str, group: int) -> None:
        """Start an episode; to be called when the environment is reset.

        Args:
            task: Its task.
            group: Id of its group, at least 0; whether it is an anchor follows from that.
        """
        self.reset()
        self._task, self._group, self.score = task, group, None

    def forward(self, action: Any, observation: Any) -> float | None:
        """Nothing before the episode is done, then its reward; `None` if it has none."""
        reward: float | None = super().forward(action, observation)
        if self.score is not None and isinstance(getattr(observation, "metadata", None), dict):
            told = {"group": self.score.group, "weight": self.score.weight}
            observation.metadata |= {f"wmrl/{name}": value for name, value in told.items()}
        return reward

    def score_trajectory(self, trajectory: Sequence[tuple[Any, Any]]) -> float | None:
        """The reward of an episode; it has none where we failed to score it, which is not 0."""
        said = [self._read(action) for action, _ in trajectory]
        (self.score,) = self._rollouts.score(self._task, self._group, [said])
        return self.score.reward

    def compute_step_rewards(self) -> list[float | None]:
        """All of the reward on the last step."""
        if self.score is None:
            return [0.0] * len(self._trajectory)
        return [*[0.0] * (len(self._trajectory) - 1), self.score.reward]


def _said(action: Any) -> str:
    return str(getattr(action, "action", action))
