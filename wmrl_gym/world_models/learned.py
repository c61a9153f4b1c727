"""What world models that learn from the real executions of the run itself have in common.

They remember outcomes, are not ready before they have seen enough of them, fit themselves
again when something was learned, and resume from what they remember.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel
from wmrl_gym.world_models.features import parse

Array = NDArray[np.float64]

STATUSES = tuple(status for status in Status if status is not Status.UNSCORED)
COMPLETED = STATUSES.index(Status.COMPLETED)


@dataclass(frozen=True)
class Example:
    """A real outcome and what it is to be predicted from."""

    task: str
    features: Any
    """What the model made of the execution, as plain data."""
    program: bool
    """Whether the artifact is a Python program."""
    status: int
    score: float
    seconds: float


class Fit(Protocol):
    """What one fit knows."""

    def predict(self, features: Sequence[Any]) -> list[Outcome]:
        """`[B]` outcomes."""
        ...


class LearnedWorldModel(WorldModel):
    """Remembers real outcomes and predicts from a fit to them.

    An artifact that is no Python program is malformed and scores 0, without any model,
    unless the outcomes learned say that artifacts need not be programs.

    Args:
        min_outcomes: Outcomes that have to be learned before anything is predicted.
        min_outcomes_per_task: Outcomes of a task that have to be learned before it is
            predicted; 0 predicts unseen tasks from the others.
        max_outcomes: Outcomes that are remembered; the oldest are forgotten.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(self, *, min_outcomes: int, min_outcomes_per_task: int, max_outcomes: int) -> None:
        if not 1 <= min_outcomes <= max_outcomes:
            raise ValueError(
                f"min_outcomes={min_outcomes} must be at least 1 and at most "
                f"max_outcomes={max_outcomes}"
            )
        if min_outcomes_per_task < 0:
            raise ValueError(f"min_outcomes_per_task={min_outcomes_per_task} must not be negative")
        self.min_outcomes = min_outcomes
        self.min_outcomes_per_task = min_outcomes_per_task
        self.max_outcomes = max_outcomes
        self._fitted: Fit | None = None
        self._remember({})

    @abstractmethod
    def describe(self, executions: Sequence[Execution]) -> list[Any]:
        """`[B]` what is known about executions, as plain data."""

    @abstractmethod
    def fit(self, examples: Sequence[Example]) -> Fit:
        """A fit to `[N]` examples; called at the first prediction after something was learned."""

    def ready(self, task: str) -> bool:
        """Whether enough outcomes have been learned, in all and of this task."""
        return (
            len(self._examples) >= self.min_outcomes
            and self._counts[task] >= self.min_outcomes_per_task
        )

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` outcomes in one pass.

        An execution whose task is not `ready` has no prediction: `Outcome.unscored`.
        """
        outcomes = {i: self._without_model(execution) for i, execution in enumerate(executions)}
        asked = [index for index, outcome in outcomes.items() if outcome is None]
        if asked:
            if self._fitted is None:
                self._fitted = self.fit(list(self._examples.values()))
            predicted = self._fitted.predict(self.describe([executions[index] for index in asked]))
            outcomes.update(zip(asked, predicted, strict=True))
        return [outcome for outcome in outcomes.values() if outcome is not None]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Add `[N]` real outcomes; equal executions count once, those without a score never."""
        learned: list[tuple[Execution, Outcome, float, bool]] = []
        for execution, outcome in zip(executions, outcomes, strict=True):
            program = parse(execution.artifact) is not None
            # What is malformed is known without a model, and would teach that nothing works.
            if outcome.score is not None and (program or outcome.status is not Status.MALFORMED):
                learned.append((execution, outcome, outcome.score, program))
        described = self.describe([execution for execution, *_ in learned])
        examples = dict(self._examples)
        for features, (execution, outcome, score, program) in zip(described, learned, strict=True):
            examples[execution.key] = Example(
                task=execution.task,
                features=features,
                program=program,
                status=int(outcome.status),
                score=score,
                seconds=outcome.seconds,
            )
        self._remember(dict(list(examples.items())[-self.max_outcomes :]))

    def state_dict(self) -> dict[str, Any]:
        """The outcomes learned; the fit is made again from them."""
        return {"examples": {key: dict(vars(example)) for key, example in self._examples.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._remember({key: Example(**example) for key, example in state["examples"].items()})

    def _remember(self, examples: Mapping[str, Example]) -> None:
        self._examples = examples
        self._counts = Counter(example.task for example in examples.values())
        self._programs = all(example.program for example in examples.values())
        self._fitted = None

    def _without_model(self, execution: Execution) -> Outcome | None:
        if self._programs and parse(execution.artifact) is None:
            return Outcome(
                Status.MALFORMED,
                0.0,
                feedback="(predicted) There is no code, or it does not compile.",
                source=Source.PREDICTED,
                predicted=0.0,
                details={"p_completed": 0.0},
            )
        if not self.ready(execution.task):
            return Outcome.unscored("too few outcomes have been learned", Source.PREDICTED)
        return None


def predicted_outcome(
    status: Status, score: float, seconds: float, details: Mapping[str, float]
) -> Outcome:
    """The outcome that stands in for the real one, and says so."""
    ending = status.name.lower().replace("_", " ")
    return Outcome(
        status=status,
        score=score,
        feedback=f"(predicted) {ending}, score about {score:.2f} (ran about {seconds:.1f} s)",
        seconds=seconds,
        source=Source.PREDICTED,
        predicted=score,
        details=details,
    )
