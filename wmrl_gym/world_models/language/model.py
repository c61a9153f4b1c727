"""The world model that asks a language model."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from wmrl_gym.outcomes import Execution, Outcome, WorldModel
from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.durations import Durations
from wmrl_gym.world_models.language.gates import gate
from wmrl_gym.world_models.language.modes.expected import DIGITS, ExpectedMode, Scale
from wmrl_gym.world_models.language.modes.head import HeadMode
from wmrl_gym.world_models.language.modes.reason import ReasonMode
from wmrl_gym.world_models.language.modes.structured import StructuredMode
from wmrl_gym.world_models.language.prediction import (
    Mode,
    NoPrediction,
    Prediction,
    certain,
    no_outcome,
    predicted_outcome,
)
from wmrl_gym.world_models.language.prompts import Question, pose
from wmrl_gym.world_models.language.reranking import Reranker, Reranking
from wmrl_gym.world_models.language.tasks import task_facts

_log = logging.getLogger(__name__)

ModeName = Literal["expected", "structured", "head", "reason"]
MODES: tuple[ModeName, ...] = ("expected", "structured", "head", "reason")
MOST_EXECUTED = 64
_MIN_OUTCOMES = 16


class LanguageWorldModel(WorldModel):
    """Predicts what running a script would do by asking a language model.

    What is certain from reading the script (no code, does not compile, imports what is not
    there) is never asked. The rest is put to the model in one batched call: instructions, a
    report on the task's data and the conversation first, the script last, without its comments
    and prose. A script that reads no data or writes no submission certainly leaves no valid
    result; how it fails is what the model says, given that.

    Scores follow the ladder of `WMRL-MLE-v0`: the predicted score is P(completed) times
    E[score | completed], plus the probabilities of the other endings times their rungs.
    A prediction that fails (no answer, malformed twice, too little probability on the
    symbols, a script longer than the context) is an outcome without a score. One whose prompt
    showed the data report or the conversation in part has `details["shortened"] = 1.0`, and the
    first one of each task is logged (WARNING). What the back end can do is logged when the model
    is made (INFO; the commands show it).

    Modes:
        `expected`: one token; the mean over the probabilities of the symbols of a scale.
        `reason`: the model thinks first, then the same.
        `structured`: a JSON object with status, how sure that is, quality, reason and feedback.
            The reasons are logged (DEBUG).
        `head`: ridge regressions on the model's hidden state, learned from the anchors.

    Args:
        backend: The language model.
        mode: How it is asked.
        symbols: Symbols of the scale, single tokens, from an error over an invalid submission
            to the best; for `expected` and `reason`.
        min_mass: Least probability that they must have together; for the same modes.
        max_tokens: Tokens of a text that the model writes; for `structured` and `reason`.
        min_outcomes: Real outcomes before `head` predicts anything.
        rerank: `"pairwise"` or `"listwise"`: the members of a group that are predicted together
            are then also compared with each other, and the group's calibrated scores are given
            out in the order of that. Works with back ends that tell probabilities.
        when_down: What becomes of new groups while a model server does not answer:
            `"unscored"` leaves them without a score, `"execute"` has them executed for real.
        most_executed: Groups that are executed for that reason, in the whole run; further ones
            are left without a score.

    Raises:
        ValueError: If an argument is out of its range, or asks for more than the back end
            can do.
    """

    def __init__(
        self,
        backend: LanguageBackend,
        *,
        mode: ModeName = "expected",
        symbols: Sequence[str] = DIGITS,
        min_mass: float = 0.5,
        max_tokens: int = 320,
        min_outcomes: int = _MIN_OUTCOMES,
        rerank: Reranking | None = None,
        when_down: Literal["unscored", "execute"] = "unscored",
        most_executed: int = MOST_EXECUTED,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode={mode!r} must be one of {MODES}")
        if max_tokens < 1:
            raise ValueError(f"max_tokens={max_tokens} must be at least 1")
        if when_down not in ("unscored", "execute"):
            raise ValueError(f"when_down={when_down!r} must be 'unscored' or 'execute'")
        if most_executed < 1:
            raise ValueError(f"most_executed={most_executed} must be at least 1")
        self.backend = backend
        self.mode = mode
        self._mode = _mode(backend, mode, symbols, min_mass, max_tokens, min_outcomes)
        self._reranker = None if rerank is None else Reranker(backend, rerank, min_mass)
        self._most_executed = most_executed if when_down == "execute" else 0
        self._executed = 0
        """Groups that were executed because the back end was down."""
        self._durations = Durations()
        self._told_shortened: set[str] = set()
        """Tasks whose prompts were said to be shortened."""
        _log.info("%s\n%s", backend.name, backend.capabilities.summary())

    def ready(self, task: str) -> bool:
        """Whether `task` can be predicted now; to be asked once for each new group."""
        if self._executed < self._most_executed and not self.backend.healthy():
            self._executed += 1
            _log.warning(
                "%s does not answer: a group is executed for real, number %d of at most %d",
                self.backend.name,
                self._executed,
                self._most_executed,
            )
            return False
        return self._mode.ready(task)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` outcomes with one batched call of the language model."""
        outcomes: dict[int, Outcome] = {}
        questions: dict[int, Question] = {}
        for index, execution in enumerate(executions):
            found = self._without_model(execution)
            if isinstance(found, Question):
                questions[index] = found
            else:
                outcomes[index] = found
        if questions:
            predictions = self._mode.predict(list(questions.values()))
            for index, prediction in zip(questions, predictions, strict=True):
                outcomes[index] = self._outcome(questions[index], prediction)
        return [outcomes[index] for index in range(len(executions))]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Learn durations, and what the mode learns, from `[N]` real outcomes."""
        self._durations.learn(executions, outcomes)
        if self.mode != "head":
            return
        questions, real = [], []
        for execution, outcome in zip(executions, outcomes, strict=True):
            # What a gate knows would teach the regression nothing but the gate.
            question = self.question(execution)
            if question is not None and outcome.score is not None:
                questions.append(question)
                real.append(outcome)
        if questions:
            self._mode.learn(questions, real)

    def question(self, execution: Execution) -> Question | None:
        """What the model would be asked about `execution`; `None` if it would not be asked."""
        found = self._without_model(execution)
        return found if isinstance(found, Question) else None

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        """Compare the members of groups; one that certainly fails keeps its score."""
        if self._reranker is None:
            return [None for _ in groups]
        found = [[self._contender(execution) for execution in group] for group in groups]
        asked = [[one for one in group if one is not None] for group in found]
        preferences: list[Sequence[float] | None] = []
        for group, preferred in zip(found, self._reranker.preferences(asked), strict=True):
            each = iter(preferred)
            preferences.append([math.nan if one is None else next(each) for one in group])
        return preferences

    def state_dict(self) -> dict[str, Any]:
        """What was learned; the language model itself does not change."""
        return {
            "mode": self.mode,
            "learned": self._mode.state_dict(),
            "durations": self._durations.state_dict(),
            "executed": self._executed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it was made in another mode.
        """
        if state["mode"] != self.mode:
            raise ValueError(f"state is of mode={state['mode']!r}, this model of {self.mode!r}")
        self._mode.load_state_dict(state["learned"])
        self._durations.load_state_dict(state["durations"])
        self._executed = int(state.get("executed", 0))

    def close(self) -> None:
        """Close the back end; safe to call twice."""
        self.backend.close()

    def _contender(self, execution: Execution) -> Question | None:
        """The question about an execution that may be the best of its group."""
        question = self.question(execution)
        return question if question is not None and question.can_complete else None

    def _without_model(self, execution: Execution) -> Outcome | Question:
        """The outcome where it is certain or hopeless, else the question to be asked."""
        facts = task_facts(execution.task, execution.task_version)
        verdict = gate(execution.artifact, facts)
        if verdict is not None and verdict.status is not None:
            ending = Prediction((certain(verdict.status),), said=verdict.said)
            seconds = self._durations.predict(execution, verdict.status)
            return predicted_outcome(execution, ending, seconds, facts.submission)
        limit = self.backend.context_tokens - self._mode.answer_tokens
        try:
            question = pose(execution, facts, self.backend.count_tokens, limit)
        except ValueError as error:
            return no_outcome(None, str(error))
        if question.shortened:
            self._tell_shortened(execution.task)
        return replace(question, can_complete=verdict is None)

    def _tell_shortened(self, task: str) -> None:
        if task not in self._told_shortened:
            self._told_shortened.add(task)
            _log.warning(
                "task %s: its data report or the conversation does not fit the %d tokens of %s, "
                "and is shown in part; scripts are never cut",
                task,
                self.backend.context_tokens,
                self.backend.name,
            )

    def _outcome(self, question: Question, made: Prediction | NoPrediction) -> Outcome:
        if isinstance(made, NoPrediction):
            return no_outcome(self.backend, made.reason)
        execution = question.execution
        made = made if question.can_complete else made.of_a_failure()
        if question.shortened:
            made = replace(made, details={**made.details, "shortened": 1.0})
        if made.reason:
            ending = made.status.name.lower()
            _log.debug("task %s: %s, because: %s", execution.task, ending, made.reason)
        seconds = self._durations.predict(execution, made.status)
        facts = task_facts(execution.task, execution.task_version)
        return predicted_outcome(execution, made, seconds, facts.submission)


def _mode(
    backend: LanguageBackend,
    mode: ModeName,
    symbols: Sequence[str],
    min_mass: float,
    max_tokens: int,
    min_outcomes: int,
) -> Mode:
    match mode:
        case "head":
            return HeadMode(backend, min_outcomes)
        case "structured":
            return StructuredMode(backend, max_tokens)
        case "reason":
            return ReasonMode(backend, Scale(backend, symbols, min_mass), max_tokens)
    return ExpectedMode(Scale(backend, symbols, min_mass))
