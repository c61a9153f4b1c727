"""A world model that reads scripts and tasks as vectors of a small text model.

It learns from the real executions of the run, as the surrogate does, but needs no numbers from
the environment: two scripts that do much the same in other words are near each other. On top
stands a Bayesian linear regression on script, task and their products, which says how sure it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.world_models.kernel_regression import KernelRegression
from wmrl_gym.world_models.language.sanitise import plain_script
from wmrl_gym.world_models.learned import Example, LearnedWorldModel, predicted_outcome
from wmrl_gym.world_models.text_encoder import TextEncoder

Array = NDArray[np.float64]

_Vectors = Mapping[str, Sequence[float]]

_PARTS = ("script", "task")
_SHORTEST_S = 1e-3
_LEAST_SPREAD = 1e-5
"""Below it, numbers differ by their rounding."""


class EmbeddingWorldModel(LearnedWorldModel):
    """Predicts outcomes by regression on embeddings of the script and of the task.

    The script is embedded without its comments and prose, the task by `Execution.context`
    (by its name if there is none). The predicted score is P(completed) E[score | completed]
    plus P(not completed) times the mean score of what did not complete; `details["std"]` is
    its standard deviation, by the regression and without the noise.

    An artifact that is no Python program is malformed and scores 0, without any model,
    unless the outcomes learned say that artifacts need not be programs.

    Args:
        encoder: What embeds texts: an object, the directory or hub name of a model that
            transformers can load, or `None` for all-MiniLM-L6-v2 from its package.
        min_outcomes: Outcomes that have to be learned before anything is predicted.
        min_outcomes_per_task: Outcomes of a task that have to be learned before it is
            predicted; 0 predicts unseen tasks from the others.
        max_outcomes: Outcomes that are remembered; the oldest are forgotten. A fit takes
            time in proportion to the third power.

    Raises:
        MissingDependencyError: If torch, transformers or the weights are not installed.
        ValueError: If an argument is out of its range, or the model cannot be loaded.
    """

    def __init__(
        self,
        encoder: TextEncoder | str | Path | None = None,
        *,
        min_outcomes: int = 32,
        min_outcomes_per_task: int = 4,
        max_outcomes: int = 2000,
    ) -> None:
        super().__init__(
            min_outcomes=min_outcomes,
            min_outcomes_per_task=min_outcomes_per_task,
            max_outcomes=max_outcomes,
        )
        self.encoder = encoder if isinstance(encoder, TextEncoder) else TextEncoder(encoder)

    def describe(self, executions: Sequence[Execution]) -> list[dict[str, list[float]]]:
        """`[B]` embeddings of scripts and tasks."""
        texts = [_script(execution) for execution in executions]
        texts += [execution.context or execution.task for execution in executions]
        # Their last digits depend on what else was in the batch, and would be kept in states.
        vectors = self.encoder.embed(texts).astype(np.float32).tolist()
        scripts, tasks = vectors[: len(executions)], vectors[len(executions) :]
        return [{"script": s, "task": t} for s, t in zip(scripts, tasks, strict=True)]

    def fit(self, examples: Sequence[Example]) -> _Regressions:
        """Regressions of the ending, the duration, and the score of what completes."""
        return _Regressions(examples)


def embedding_world_model(name: str) -> EmbeddingWorldModel:
    """The world model of that name.

    Args:
        name: `embedding`, or `embedding:MODEL` with the directory or hub name of an encoder.

    Raises:
        ValueError: If the name is malformed, or the model cannot be loaded.
    """
    family, colon, model = name.partition(":")
    if family != "embedding" or bool(colon) != bool(model):
        raise ValueError(f"world_model={name!r} must look like 'embedding' or 'embedding:MODEL'")
    return EmbeddingWorldModel(model or None)


class _Regressions:
    """What one fit knows: P(completed), the duration, and the score of what completes."""

    def __init__(self, examples: Sequence[Example]) -> None:
        scores = np.array([example.score for example in examples])
        seconds = np.log([max(example.seconds, _SHORTEST_S) for example in examples])
        done = np.array([example.status == Status.COMPLETED for example in examples])
        self._inputs = _Inputs([example.features for example in examples])
        self._done = np.flatnonzero(done)
        gram = self._inputs.gram()
        self._ends = KernelRegression(gram, np.column_stack([done.astype(np.float64), seconds]))
        good = gram[np.ix_(self._done, self._done)]
        self._good = KernelRegression(good, scores[done, None]) if done.any() else None
        self._bad = 0.0 if done.all() else float(scores[~done].mean())
        endings = Counter(e.status for e in examples if e.status != Status.COMPLETED)
        self._failure = Status(endings.most_common(1)[0][0]) if endings else Status.CRASHED
        # A straight line leaves the bounds of what it describes; nothing better is known of them.
        self._score_range = float(scores.min()), float(scores.max())
        self._seconds_range = float(seconds.min()), float(seconds.max())

    def predict(self, features: Sequence[_Vectors]) -> list[Outcome]:
        """`[B]` outcomes."""
        cross, own = self._inputs.cross(features)
        ends, unsure = self._ends.predict(cross, own)
        p = np.clip(ends[:, 0], 0.0, 1.0)
        seconds = np.exp(np.clip(ends[:, 1], *self._seconds_range))
        good, spread = np.full(len(p), self._bad), np.zeros(len(p))
        if self._good is not None:
            means, stds = self._good.predict(cross[:, self._done], own)
            good, spread = np.clip(means[:, 0], *self._score_range), stds[:, 0]
        scores = p * good + (1.0 - p) * self._bad
        # To first order, with both regressions independent.
        std = np.hypot(p * spread, (good - self._bad) * unsure[:, 0])
        return [self._outcome(*row) for row in zip(p, scores, std, seconds, strict=True)]

    def _outcome(self, p: float, score: float, std: float, seconds: float) -> Outcome:
        status = Status.COMPLETED if p >= 0.5 else self._failure
        details = {"p_completed": float(p), "std": float(std)}
        return predicted_outcome(status, float(score), float(seconds), details)


class _Inputs:
    """Inner products of scripts, tasks, and all products of a number of each.

    The products let a choice be good for one task and bad for another.
    """

    def __init__(self, features: Sequence[_Vectors]) -> None:
        raw = [_matrix(part, features) for part in _PARTS]
        self._means = [matrix.mean(axis=0) for matrix in raw]
        self._scales = [_scale(matrix) for matrix in raw]
        self._known = self._standardised(raw)

    def gram(self) -> Array:
        """`[N, N]` among the examples."""
        return _inner([known @ known.T for known in self._known])

    def cross(self, features: Sequence[_Vectors]) -> tuple[Array, Array]:
        """`[B, N]` of new inputs with the examples, `[B]` of new inputs with themselves."""
        new = self._standardised([_matrix(part, features) for part in _PARTS])
        cross = [n @ known.T for n, known in zip(new, self._known, strict=True)]
        return _inner(cross), _inner([(n * n).sum(axis=1) for n in new])

    def _standardised(self, raw: Sequence[Array]) -> list[Array]:
        parts = zip(raw, self._means, self._scales, strict=True)
        return [(matrix - mean) * scale for matrix, mean, scale in parts]


def _inner(parts: Sequence[Array]) -> Array:
    scripts, tasks = parts
    products: Array = (1.0 + scripts) * (1.0 + tasks)
    return products


def _matrix(part: str, features: Sequence[_Vectors]) -> Array:
    return np.array([vectors[part] for vectors in features], dtype=np.float64)


def _scale(matrix: Array) -> Array:
    """Brings vectors to a mean square of 1; what does not vary among the examples says nothing."""
    spread = matrix.std(axis=0)
    varies = spread > _LEAST_SPREAD
    inverse = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    scale: Array = inverse / np.sqrt(matrix.shape[1])
    return scale


def _script(execution: Execution) -> str:
    """The artifact without what does nothing; as it is if it is no program."""
    try:
        return plain_script(execution.artifact)
    except (SyntaxError, ValueError):
        return execution.artifact
