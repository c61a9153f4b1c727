"""A regression on what the model makes of a script inside, learned from real executions.

A small model that cannot say how good a script is may still tell scripts apart: the mean of
a middle layer over the script's tokens is a description of it, and ridge regressions read
the outcome off that. They learn from the anchors, between batches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.outcomes import Outcome, Status
from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.prediction import (
    Ending,
    NoPrediction,
    Prediction,
    certain,
    rung,
)
from wmrl_gym.world_models.language.prompts import Question

Array = NDArray[np.float64]

_MOST_OUTCOMES = 2000
_REMEMBERED = 512
_PENALTIES = np.logspace(0, 5, 11)


class HeadMode:
    """Predicts from hidden states.

    Args:
        backend: A back end that shows hidden states.
        min_outcomes: Outcomes that have to be learned before anything is predicted.

    Raises:
        ValueError: If the back end shows none, or `min_outcomes` is below 2.
    """

    answer_tokens = 8

    def __init__(self, backend: LanguageBackend, min_outcomes: int) -> None:
        if not backend.capabilities.hidden_states:
            raise ValueError(
                f"{backend.name} shows no hidden states: mode='head' needs a transformers model"
            )
        if min_outcomes < 2:
            raise ValueError(f"min_outcomes={min_outcomes} must be at least 2")
        self._backend = backend
        self._min_outcomes = min_outcomes
        self._states: OrderedDict[str, Array] = OrderedDict()
        self._examples: dict[str, tuple[Array, int, float]] = {}
        self._fit: _Regressions | None = None

    def ready(self, task: str) -> bool:
        """Whether enough outcomes have been learned; tasks share what they taught."""
        return len(self._examples) >= self._min_outcomes

    def predict(self, questions: Sequence[Question]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions in one pass."""
        if not self.ready(""):
            few = f"{len(self._examples)} of {self._min_outcomes} outcomes have been learned"
            return [NoPrediction(few) for _ in questions]
        states = self._states_of(questions)
        if self._fit is None:
            self._fit = _Regressions(list(self._examples.values()))
        fit = self._fit
        return [
            NoPrediction("the model gave no state in time") if state is None else fit.predict(state)
            for state in states
        ]

    def learn(self, questions: Sequence[Question], outcomes: Sequence[Outcome]) -> None:
        """Add `[N]` real outcomes; equal executions count once."""
        for question, state, outcome in zip(
            questions, self._states_of(questions), outcomes, strict=True
        ):
            if state is not None and outcome.score is not None:
                key = question.execution.key
                self._examples[key] = (state, int(outcome.status), outcome.score)
        self._examples = dict(list(self._examples.items())[-_MOST_OUTCOMES:])
        self._fit = None

    def state_dict(self) -> dict[str, Any]:
        """The states and outcomes learned; the regressions are fitted again from them."""
        return {
            "examples": {
                key: (state.astype(np.float32).tolist(), status, score)
                for key, (state, status, score) in self._examples.items()
            }
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._examples = {
            key: (np.asarray(vector, dtype=np.float64), int(status), float(score))
            for key, (vector, status, score) in state["examples"].items()
        }
        self._fit = None

    def _states_of(self, questions: Sequence[Question]) -> list[Array | None]:
        """`[B]` states; those of recent questions are remembered: anchors are asked about twice."""
        new = {
            question.execution.key: question
            for question in questions
            if question.execution.key not in self._states
        }
        if new:
            states = self._backend.hidden_states([question.prompt for question in new.values()])
            found = zip(new, states, strict=True)
            self._states.update({key: state for key, state in found if state is not None})
        known = [self._states.get(question.execution.key) for question in questions]
        while len(self._states) > _REMEMBERED:
            self._states.popitem(last=False)
        return known


class _Regressions:
    """P(completed), the score of what completes, and how the rest ended."""

    def __init__(self, examples: Sequence[tuple[Array, int, float]]) -> None:
        states = np.stack([state for state, _, _ in examples])
        scores = np.array([score for _, _, score in examples])
        completed = np.array([status == Status.COMPLETED for _, status, _ in examples])
        self._completes = _ridge(states, completed.astype(np.float64))
        self._good = _ridge(states[completed], scores[completed])
        self._failures = _failures(examples)

    def predict(self, state: Array) -> Prediction:
        p = float(np.clip(self._completes(state), 0.0, 1.0))
        # A valid result is never below its rung, whatever a straight line says.
        good = float(np.clip(self._good(state), rung(Status.COMPLETED, 0.0), 1.0))
        failures = (replace(e, probability=(1.0 - p) * e.probability) for e in self._failures)
        return Prediction((*failures, Ending(Status.COMPLETED, p, good)))


def _failures(examples: Sequence[tuple[Array, int, float]]) -> tuple[Ending, ...]:
    """The endings of what did not complete, with their shares."""
    scores: dict[int, list[float]] = {}
    for _, status, score in examples:
        if status != Status.COMPLETED:
            scores.setdefault(status, []).append(score)
    total = sum(len(found) for found in scores.values())
    seen = [Ending(Status(s), len(of) / total, float(np.mean(of))) for s, of in scores.items()]
    return tuple(seen) or (certain(Status.CRASHED),)


def _ridge(states: Array, values: Array) -> Any:
    """A function of one state; a constant where there is nothing to tell apart."""
    if len(values) < 3 or np.ptp(values) == 0:
        constant = float(values.mean()) if len(values) else 0.0
        return lambda state: constant
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Its penalty is chosen by leaving one out, which costs one decomposition for all of them.
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=_PENALTIES)).fit(states, values)
    return lambda state: float(model.predict(state[None])[0])
