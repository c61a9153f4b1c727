"""A world model that has learned from the shipped outcomes of other tasks, and learns no more.

It stands for what the method was made for: a model with general knowledge, which is biased and
noisy on the tasks at hand, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from wmrl_gym.outcomes import Execution, Outcome, WorldModel
from wmrl_gym.world_models.learned import LearnedWorldModel
from wmrl_gym.world_models.registry import make_world_model

MICRO = "-micro"


class PretrainedWorldModel(WorldModel):
    """Predicts with a model that learned once, and ignores the outcomes of the run.

    Args:
        base: The world model; if it learns, it has learned all that it will.
    """

    def __init__(self, base: WorldModel) -> None:
        self.base = base
        if isinstance(base, LearnedWorldModel):
            base.min_outcomes_per_task = 0  # it is asked about tasks that it has never seen

    def ready(self, task: str) -> bool:
        """Whether the base is."""
        return self.base.ready(task)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """`[B]` predictions of the base."""
        return self.base.execute(executions)

    def state_dict(self) -> dict[str, Any]:
        """The state of the base."""
        return self.base.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.base.load_state_dict(state)

    def close(self) -> None:
        """Close the base; safe to call twice."""
        self.base.close()


def pretrained_world_model(name: str) -> PretrainedWorldModel:
    """The model of that name, taught the shipped outcomes.

    Args:
        name: `pretrained:BASE` or `pretrained:BASE!TASK!TASK`: outcomes of these tasks, whatever
            their size, are left out, for instance because they will be trained on.

    Raises:
        ValueError: If there is no base, or it is unknown.
    """
    base, *without = name.partition(":")[2].split("!")
    if not base:
        raise ValueError(f"world_model={name!r} must look like 'pretrained:BASE!TASK!TASK'")
    model = make_world_model(base)
    teach(model, without=without)
    return PretrainedWorldModel(model)


def teach(model: WorldModel, *, without: Collection[str] = ()) -> None:
    """Let a model learn the shipped outcomes.

    Args:
        model: The model.
        without: Tasks whose outcomes are left out, by their names without a size.
    """
    # Above this room, but it is only the reader of a file.
    from wmrl_gym.interchange.outcomes import shipped_outcomes

    records = [
        record
        for record in shipped_outcomes().records
        if record.execution.task.removesuffix(MICRO) not in without
    ]
    model.learn([r.execution for r in records], [r.outcome for r in records])
