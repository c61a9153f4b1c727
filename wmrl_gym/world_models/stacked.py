"""A world model that learns what the predictions of others are worth.

What each member predicts becomes numbers by name in `Execution.features`, beside those of the
environment, for a model on top that reads them: the surrogate. It finds out by itself where a
member is right, wrong, or wrong by a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wmrl_gym.outcomes import Execution, Outcome, WorldModel
from wmrl_gym.world_models.registry import make_world_model

_FOLDS = 5


class StackedWorldModel(WorldModel):
    """Predicts with one world model from the predictions of others.

    The model on top must not be trained on what a member says of an outcome that it has
    learned: it would trust the member more than new scripts bear out. So each outcome reaches
    it with the prediction of members that learned everything before it and the rest of its
    batch, without the fold that it is in. Folds are runs of neighbours, since those of a group
    stand together and are alike.

    A member that gives no prediction (not ready, or failed) leaves its numbers out.

    Args:
        top: Learns from the predictions and predicts; it has to read `Execution.features`,
            as the surrogate does.
        members: One or more other world models.

    Raises:
        ValueError: If there is no member.
    """

    def __init__(self, top: WorldModel, members: Sequence[WorldModel]) -> None:
        if not members:
            raise ValueError("members=[] must be at least one world model")
        self.top = top
        self.members = tuple(members)

    def ready(self, task: str) -> bool:
        """Whether the model on top is."""
        return self.top.ready(task)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` outcomes with one call of each member and one of the top."""
        said = [member.execute(executions) for member in self.members]
        outcomes = self.top.execute(_told(executions, said))
        return [_with_feedback(*row) for row in zip(outcomes, *said, strict=True)]

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        """What the first member prefers that compares at all."""
        said = zip(*(member.rerank(groups) for member in self.members), strict=True)
        return [next((one for one in each if one is not None), None) for each in said]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Learn from `[N]` real outcomes: first the top, from honest predictions, then members."""
        if not executions:
            return
        said = [_out_of_fold(member, executions, outcomes) for member in self.members]
        self.top.learn(_told(executions, said), outcomes)

    def state_dict(self) -> dict[str, Any]:
        """The states of all."""
        return {
            "top": self.top.state_dict(),
            "members": [member.state_dict() for member in self.members],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it was made with another number of members.
        """
        if len(state["members"]) != len(self.members):
            raise ValueError(
                f"state has {len(state['members'])} members, this stack {len(self.members)}"
            )
        self.top.load_state_dict(state["top"])
        for member, kept in zip(self.members, state["members"], strict=True):
            member.load_state_dict(kept)

    def close(self) -> None:
        """Close all; safe to call twice."""
        for model in (self.top, *self.members):
            model.close()


def stacked_world_model(name: str) -> StackedWorldModel:
    """The stack of that name.

    Args:
        name: `stacked:TOP,MEMBER[,MEMBER...]`, each by its own name, for instance
            `stacked:surrogate,smollm2+head`.

    Raises:
        ValueError: If there are fewer than two names, or one is unknown.
    """
    top, *members = name.partition(":")[2].split(",")
    if not members or not all((top, *members)):
        raise ValueError(
            f"world_model={name!r} must look like 'stacked:TOP,MEMBER', for instance "
            "'stacked:surrogate,embedding'"
        )
    return StackedWorldModel(make_world_model(top), [make_world_model(m) for m in members])


def _out_of_fold(
    member: WorldModel, executions: Sequence[Execution], outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """`[N]` predictions, each without having learned its own outcome; then learn all."""
    before = member.state_dict()
    predicted: list[Outcome] = []
    for fold in np.array_split(np.arange(len(executions)), min(_FOLDS, len(executions))):
        others = [i for i in range(len(executions)) if not fold[0] <= i <= fold[-1]]
        member.load_state_dict(before)
        member.learn([executions[i] for i in others], [outcomes[i] for i in others])
        predicted += member.execute([executions[i] for i in fold])
    member.load_state_dict(before)
    member.learn(executions, outcomes)
    return predicted


def _told(executions: Sequence[Execution], said: Sequence[Sequence[Outcome]]) -> list[Execution]:
    """`[B]` executions with what the members said among their features."""
    told = []
    for execution, *predictions in zip(executions, *said, strict=True):
        numbers = dict(execution.features)
        for index, prediction in enumerate(predictions):
            if prediction.score is not None:
                numbers[f"member/{index}/known"] = 1.0
                numbers[f"member/{index}/score"] = prediction.score
                finite = {k: v for k, v in prediction.details.items() if math.isfinite(v)}
                numbers |= {f"member/{index}/{name}": value for name, value in finite.items()}
        told.append(replace(execution, features=numbers))
    return told


def _with_feedback(outcome: Outcome, *predictions: Outcome) -> Outcome:
    """`outcome` in the words of the first member that expects the same ending, if any does.

    A language model says what the environment would show, which a surrogate cannot.
    """
    if outcome.score is None:
        return outcome
    agree = (p.feedback for p in predictions if p.score is not None and p.status is outcome.status)
    return replace(outcome, feedback=next(agree, outcome.feedback))
