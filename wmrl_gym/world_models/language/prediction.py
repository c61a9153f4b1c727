"""What a mode makes of a model's answer, and the outcome that the environment is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from wmrl_gym.outcomes import Execution, Outcome, Source, Status
from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.prompts import Question


@dataclass(frozen=True)
class Ending:
    """A way in which an execution may end."""

    status: Status
    probability: float
    score: float
    """Expected score if it ends so."""


@dataclass(frozen=True)
class Prediction:
    """How an execution will end, in the judgement of a model."""

    endings: tuple[Ending, ...]
    """One or more; their probabilities sum to 1."""
    said: str = ""
    """What the model expects the agent to be shown besides."""
    reason: str = ""
    """Why, in the model's words."""
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The likeliest ending."""
        return max(self.endings, key=lambda ending: ending.probability).status

    @property
    def p_completed(self) -> float:
        """Probability that a valid result is left."""
        completed = (e.probability for e in self.endings if e.status is Status.COMPLETED)
        return min(sum(completed), 1.0)

    @property
    def score(self) -> float:
        """P(completed) E[score | completed], and the same of the other endings."""
        return min(max(sum(e.probability * e.score for e in self.endings), 0.0), 1.0)

    def of_a_failure(self) -> Prediction:
        """The same, given that no valid result is left."""
        failures = [e for e in self.endings if e.status is not Status.COMPLETED]
        total = sum(failure.probability for failure in failures)
        if total > 0.0:
            shares = [replace(e, probability=e.probability / total) for e in failures]
        else:  # the model is sure of the contrary: what is left is the mildest failure
            shares = [certain(Status.NO_RESULT)]
        said = "" if self.status is Status.COMPLETED else self.said
        return replace(self, endings=tuple(shares), said=said)


def certain(status: Status) -> Ending:
    """An ending that leaves no doubt, on its rung of the ladder."""
    return Ending(status, 1.0, rung(status))


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
