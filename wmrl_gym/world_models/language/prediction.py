"""What a mode makes of a model's answer, and the outcome that the environment is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wmrl_gym.outcomes import Execution, Outcome, Source, Status
from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.prompts import Question


@dataclass(frozen=True)
class Prediction:
    """How an execution will end, in the judgement of a model."""

    status: Status
    """The likeliest ending."""
    p_completed: float
    """Probability that a valid result is left."""
    score: float
    """P(completed) E[score | completed], plus the rungs of the other endings."""
    said: str = ""
    """What the model expects the agent to be shown besides."""
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NoPrediction:
    """Why there is none."""

    reason: str


class Mode(Protocol):
    """A way to ask a model and to read its answer."""

    answer_tokens: int
    """Tokens that have to be left for question and answer."""

    def ready(self, task: str) -> bool:
        """Whether `task` can be predicted."""
        ...

    def predict(self, questions: Sequence[Question]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions."""
        ...

    def learn(self, questions: Sequence[Question], outcomes: Sequence[Outcome]) -> None:
        """Learn from `[N]` real outcomes, all with a score."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What was learned."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        ...


class FixedMode(Mode, Protocol):
    """A mode that learns nothing."""

    def ready(self, task: str) -> bool:
        """Always."""
        return True

    def learn(self, questions: Sequence[Question], outcomes: Sequence[Outcome]) -> None:
        """Nothing to learn."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""
        return None


def rung(status: Status, position: float | None = None) -> float:
    """The score of an ending, as a number."""
    from wmrl_gym.envs.mle.ladder import ladder

    score = ladder(status, position)
    if score is None:
        raise ValueError(f"status={status!r} has no score")
    return score


def predicted_outcome(
    execution: Execution, prediction: Prediction, seconds: float, submission: str
) -> Outcome:
    """The outcome that stands in for the real one."""
    return Outcome(
        status=prediction.status,
        score=prediction.score,
        feedback=_feedback(execution, prediction, seconds, submission or "the result"),
        seconds=seconds,
        source=Source.PREDICTED,
        predicted=prediction.score,
        details={"p_completed": prediction.p_completed, **prediction.details},
    )


def no_outcome(backend: LanguageBackend | None, reason: str) -> Outcome:
    """The outcome of a prediction that failed: no score."""
    place = "" if backend is None else f"{backend.name}: "
    return Outcome.unscored(f"no prediction: {place}{reason}", Source.PREDICTED)


def _feedback(execution: Execution, made: Prediction, seconds: float, submission: str) -> str:
    """What the environment would show; no metric is made up."""
    match made.status:
        case Status.CRASHED:
            verdict = "The script failed with exit code 1."
        case Status.TIMED_OUT:
            verdict = f"The script was stopped at its limit of {execution.timeout_s:g} s."
        case Status.OUT_OF_MEMORY:
            verdict = "The script was stopped at its memory limit."
        case Status.NO_RESULT:
            verdict = f"The script ended well but left no {submission}."
        case Status.INVALID_RESULT:
            verdict = f"{submission} is not valid."
        case Status.MALFORMED:
            return made.said
        case _:
            verdict = f"{submission} is valid."
    shown = f"{verdict} (ran {seconds:.1f} s)"
    return f"{shown}\n{made.said}" if made.said else shown
