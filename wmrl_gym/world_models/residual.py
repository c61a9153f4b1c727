"""Debiasing that sees more than the score: the world model's error, regressed on features.

A monotone map of predicted scores cannot tell a kind of solution that the model misjudges from one
that it knows. This model can: it learns, from the real outcomes of the run, what the error of
another world model depends on, and takes it off. The isotonic map still follows, for what is
left.

The regression is cross-fitted: how much of its correction is believed is decided by its errors on
outcomes that it was not fitted to, so that a regression that has learned nothing corrects
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction import DictVectorizer

from wmrl_gym.outcomes import Execution, Outcome, WorldModel
from wmrl_gym.world_models.registry import make_world_model

Array = NDArray[np.float64]
_FOLDS = 5
_TREES = 50
_LEAF = 5
"""Outcomes in a leaf: below that, trees would follow the noise of single outcomes."""
_REFIT = 1.1
"""The regression is fitted again once there are a tenth more outcomes: a fit takes 0.2 s."""


@dataclass(frozen=True)
class _Fit:
    vectorizer: DictVectorizer
    trees: ExtraTreesRegressor
    belief: float
    """Share of the correction that is applied, in [0, 1]."""
    examples: int


class ResidualWorldModel(WorldModel):
    """Corrects the scores of another world model by what its errors were found to depend on.

    Args:
        base: The world model. What it says besides the score is passed on.
        min_outcomes: Real outcomes before anything is corrected, at least 10.
        max_outcomes: Outcomes that are remembered; the oldest are forgotten.
        bounds: Lowest and highest score.
        seed: Seed of the regression.

    Raises:
        ValueError: If not `10 <= min_outcomes <= max_outcomes`.
    """

    def __init__(
        self,
        base: WorldModel,
        *,
        min_outcomes: int = 64,
        max_outcomes: int = 2000,
        bounds: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        if not 10 <= min_outcomes <= max_outcomes:
            raise ValueError(
                f"need 10 <= min_outcomes <= max_outcomes, got {min_outcomes=}, {max_outcomes=}"
            )
        self.base = base
        self.min_outcomes = min_outcomes
        self.max_outcomes = max_outcomes
        self.bounds = bounds
        self.seed = seed
        self._features: list[dict[str, float]] = []
        self._errors: list[float] = []
        self._fit: _Fit | None = None

    @property
    def belief(self) -> float:
        """Share of its correction that the regression has earned, in [0, 1]; 0 before a fit."""
        return 0.0 if self._fit is None else self._fit.belief

    def ready(self, task: str) -> bool:
        """Whether the base is."""
        return self.base.ready(task)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` executions with one call of the base."""
        said = self.base.execute(executions)
        scored = [i for i, outcome in enumerate(said) if outcome.score is not None]
        if self._fit is None or not scored:
            return said
        rows = [_describe(executions[i], said[i]) for i in scored]
        corrections = self._fit.belief * _predict(self._fit, rows)
        for i, correction in zip(scored, corrections, strict=True):
            raw = said[i].score
            assert raw is not None  # only scored ones are corrected
            said[i] = replace(said[i], score=float(np.clip(raw + correction, *self.bounds)))
        return said

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        """What the base prefers."""
        return self.base.rerank(groups)

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        """Learn from `[N]` real outcomes: the errors of the base first, then the base itself."""
        said = self.base.execute(executions) if executions else []
        for execution, prediction, outcome in zip(executions, said, outcomes, strict=True):
            if prediction.score is not None and outcome.score is not None:
                self._features.append(_describe(execution, prediction))
                self._errors.append(outcome.score - prediction.score)
        self._features = self._features[-self.max_outcomes :]
        self._errors = self._errors[-self.max_outcomes :]
        self._refit()
        self.base.learn(executions, outcomes)

    def state_dict(self) -> dict[str, Any]:
        """The errors learned, and the state of the base; the fit is made again from them."""
        return {
            "base": self.base.state_dict(),
            "features": [dict(row) for row in self._features],
            "errors": list(self._errors),
            "fitted_to": 0 if self._fit is None else self._fit.examples,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.base.load_state_dict(state["base"])
        self._features = [dict(row) for row in state["features"]]
        self._errors = list(state["errors"])
        count = state["fitted_to"]
        self._fit = self._fitted(count) if count else None

    def close(self) -> None:
        """Close the base; safe to call twice."""
        self.base.close()

    def _refit(self) -> None:
        count = len(self._errors)
        if count < self.min_outcomes:
            return
        if self._fit is None or count == self.max_outcomes or count >= _REFIT * self._fit.examples:
            self._fit = self._fitted(count)

    def _fitted(self, count: int) -> _Fit:
        """A fit to the first `count` outcomes on record."""
        vectorizer = DictVectorizer(sparse=False)
        matrix = vectorizer.fit_transform(self._features[:count])
        errors = np.array(self._errors[:count])
        belief = _belief(self._out_of_fold(matrix, errors), errors)
        return _Fit(vectorizer, self._trees().fit(matrix, errors), belief, count)

    def _out_of_fold(self, matrix: Array, errors: Array) -> Array:
        """`[N]` predicted errors, each by trees that have not seen its run of neighbours.

        Neighbours are members of one group, which are alike.
        """
        predicted = np.zeros(len(errors))
        for fold in np.array_split(np.arange(len(errors)), _FOLDS):
            others = np.setdiff1d(np.arange(len(errors)), fold)
            predicted[fold] = (
                self._trees().fit(matrix[others], errors[others]).predict(matrix[fold])
            )
        return predicted

    def _trees(self) -> ExtraTreesRegressor:
        return ExtraTreesRegressor(_TREES, min_samples_leaf=_LEAF, random_state=self.seed)


def residual_world_model(name: str) -> ResidualWorldModel:
    """The model of that name: `residual:BASE`, for instance `residual:smollm2`.

    Raises:
        ValueError: If there is no base, or it is unknown.
    """
    base = name.partition(":")[2]
    if not base:
        raise ValueError(f"world_model={name!r} must look like 'residual:BASE'")
    return ResidualWorldModel(make_world_model(base))


def _describe(execution: Execution, prediction: Outcome) -> dict[str, float]:
    assert prediction.score is not None  # its error would have no size
    return {**execution.features, "residual/predicted": prediction.score}


def _predict(fit: _Fit, rows: Sequence[Mapping[str, float]]) -> Array:
    predicted: Array = fit.trees.predict(fit.vectorizer.transform(rows))
    return predicted


def _belief(predicted: Array, errors: Array) -> float:
    """Least-squares share of the predicted errors that the true ones bear out, in [0, 1]."""
    size = float(predicted @ predicted)
    return float(np.clip(predicted @ errors / size, 0.0, 1.0)) if size else 0.0
