"""A world model that learns from the real executions of the run itself.

It ships no weights: until it has seen enough outcomes it is not `ready` and everything runs
for real. Then forests predict how an execution ends and what it scores, from the numbers
that the environment gives (`Execution.features`) and from what the script mentions. On
random pipelines for tabular tasks this split ranks the members of a group better than one
forest for the score, since a crash and a poor result have different causes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.world_models.features import parse, script_features
from wmrl_gym.world_models.learned import (
    COMPLETED,
    STATUSES,
    Example,
    LearnedWorldModel,
    predicted_outcome,
)

Array = NDArray[np.float64]

_SHORTEST_S = 1e-3
_MOST_NAMES = 1000
_TREES_FOR_SECONDS = 10
"""Durations are rough anyway."""


class SurrogateWorldModel(LearnedWorldModel):
    """Predicts outcomes with forests fitted to the real outcomes seen so far.

    The predicted score is an expectation, P(completed) E[score | completed] plus, for every
    other status, its probability times the mean score that it earned so far.

    An artifact that is no Python program is malformed and scores 0, without any model,
    unless the outcomes learned say that artifacts need not be programs.

    Args:
        min_outcomes: Outcomes that have to be learned before anything is predicted.
        min_outcomes_per_task: Outcomes of a task that have to be learned before it is
            predicted; 0 predicts unseen tasks from the others.
        max_outcomes: Outcomes that are remembered; the oldest are forgotten. A fit takes
            time in proportion.
        n_estimators: Trees in each forest.
        seed: Seed of the forests; equal outcomes and seeds give equal predictions.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self,
        *,
        min_outcomes: int = 32,
        min_outcomes_per_task: int = 4,
        max_outcomes: int = 2000,
        n_estimators: int = 50,
        seed: int = 0,
    ) -> None:
        if n_estimators < 1:
            raise ValueError(f"n_estimators={n_estimators} must be at least 1")
        super().__init__(
            min_outcomes=min_outcomes,
            min_outcomes_per_task=min_outcomes_per_task,
            max_outcomes=max_outcomes,
        )
        self.n_estimators = n_estimators
        self.seed = seed

    def describe(self, executions: Sequence[Execution]) -> list[dict[str, float]]:
        """`[B]` numbers by name: what the environment says and what the scripts mention."""
        return [_describe(execution) for execution in executions]

    def fit(self, examples: Sequence[Example]) -> _Forests:
        """Forests for the ending, for the score, and for the duration."""
        return _Forests(examples, self.n_estimators, self.seed)


class _Forests:
    """What one fit knows: P(status), the duration, and the score of what completes."""

    def __init__(self, examples: Sequence[Example], n_estimators: int, seed: int) -> None:
        features = [example.features for example in examples]
        self.names = _distinct(features)
        inputs = _matrix(self.names, features)
        status = np.array([STATUSES.index(Status(example.status)) for example in examples])
        score = np.array([example.score for example in examples])
        seconds = np.array([max(example.seconds, _SHORTEST_S) for example in examples])
        one_hot = np.eye(len(STATUSES))[status]
        self.mean_score = one_hot.T @ score / np.maximum(one_hot.sum(axis=0), 1.0)
        self.ends = _forest(n_estimators, seed).fit(inputs, one_hot)
        # Apart from the ending: a duration that was measured again would change every score.
        self.seconds = _forest(_TREES_FOR_SECONDS, seed).fit(inputs, np.log(seconds))
        done = status == COMPLETED
        self.scores: ExtraTreesRegressor | None = None
        if done.any():
            self.scores = _forest(n_estimators, seed).fit(inputs[done], score[done])

    def predict(self, features: Sequence[Mapping[str, float]]) -> list[Outcome]:
        """`[B]` outcomes."""
        inputs = _matrix(self.names, features)
        probabilities, seconds = self.ends.predict(inputs), np.exp(self.seconds.predict(inputs))
        score_by_status = np.tile(self.mean_score, (len(inputs), 1))
        if self.scores is not None:
            score_by_status[:, COMPLETED] = self.scores.predict(inputs)
        scores = np.sum(probabilities * score_by_status, axis=1)
        return [_outcome(*row) for row in zip(probabilities, scores, seconds, strict=True)]


def _matrix(names: Sequence[str], features: Sequence[Mapping[str, float]]) -> Array:
    """`[N, F]` float64; what an execution does not mention is 0, what is new is left out."""
    rows = [[named.get(name, 0.0) for name in names] for named in features]
    return np.array(rows, dtype=np.float64).reshape(len(features), len(names))


def _distinct(features: Sequence[Mapping[str, float]]) -> list[str]:
    """The names whose columns vary, and the first of those that say exactly the same.

    What a choice is called and the words that it puts into a script often go together;
    repeated columns would cost time and take part in splits as often as they are repeated.
    """
    mentions = Counter(name for named in features for name in named)
    names = [name for name, count in mentions.most_common(_MOST_NAMES) if count > 1]
    matrix = _matrix(names, features)
    seen: dict[bytes, str] = {}
    for name, column in zip(names, matrix.T, strict=True):
        if np.ptp(column) > 0:
            seen.setdefault(column.tobytes(), name)
    return list(seen.values()) or ["timeout_s"]  # a forest needs one column


def _forest(n_estimators: int, seed: int) -> ExtraTreesRegressor:
    # A fifth of the columns a split ranks better than all of them: many say the same, and
    # the few that describe the task would otherwise be split on first in every tree.
    return ExtraTreesRegressor(n_estimators, max_features=0.2, random_state=seed)


def _describe(execution: Execution) -> dict[str, float]:
    """All that is known about an execution in numbers."""
    tree = parse(execution.artifact)
    known = {f"name/{execution.task}": 1.0, "timeout_s": execution.timeout_s}
    known |= {} if tree is None else script_features(tree)
    return {**known, **execution.features}


def _outcome(probabilities: Array, score: float, seconds: float) -> Outcome:
    return predicted_outcome(
        STATUSES[int(np.argmax(probabilities))],
        float(score),
        float(seconds),
        {"p_completed": float(probabilities[COMPLETED])},
    )
