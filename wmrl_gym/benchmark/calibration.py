"""World models side by side, measured against real outcomes that they have not learned from.

Every group is predicted twice: by a model that has learned other groups of its task, and by one
that has learned nothing of its task (see `wmrl_gym.benchmark.folds`). For each fold a model
starts afresh. Groups that a model also compares side by side are measured in that order.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wmrl_gym.benchmark.folds import (
    LEAST_FOLDS,
    REGIMES,
    SEEN,
    Fold,
    deal,
    limits,
)
from wmrl_gym.benchmark.prediction_quality import Predictions, Quality, measure
from wmrl_gym.errors import WorldModelError
from wmrl_gym.executors.reordering import reordered
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Outcome, Status, WorldModel

_BATCH = 64
"""Least number of executions that are predicted in one call, as far as there are so many."""

Progress = Callable[[str], None]
"""Is told what is being done, in a few words."""


@dataclass(frozen=True)
class CalibrationSettings:
    """How to measure."""

    folds: int = 4
    """Times that each model is fitted, each time to about (1 - 1/folds)^2 of the outcomes."""
    bins: int = 10
    """Bins of the reliability diagrams."""
    resamples: int = 1000
    """Resamples of the groups, for the intervals."""
    seed: int = 0
    """Seed of the dealing and of the resampling."""

    def __post_init__(self) -> None:
        if self.folds < LEAST_FOLDS:
            raise ValueError(f"folds={self.folds} must be at least {LEAST_FOLDS}")
        for name in ("bins", "resamples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")


@dataclass(frozen=True)
class ModelCalibration:
    """How good one world model is."""

    qualities: Mapping[str, Quality]
    """By regime; one that could not be measured is missing."""
    seconds_per_prediction: float
    """Wall-clock time. What a model remembers from an earlier fold, such as what it made of a
    script, costs it nothing a second time."""
    seconds_to_learn: float
    """Mean over the fits, in seconds."""


@dataclass(frozen=True)
class Calibration:
    """What a study found."""

    models: Mapping[str, ModelCalibration]
    """By name, in the order given."""
    outcomes: Mapping[str, int]
    """`pairs`, `tasks` and `groups` measured, `without_score` left out, and each status."""
    notes: Sequence[str]
    """What could not be measured, and why."""


def calibrate(
    records: Sequence[OutcomeRecord],
    models: Mapping[str, WorldModel],
    *,
    settings: CalibrationSettings | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    progress: Progress = lambda said: None,
) -> Calibration:
    """Measure world models against real outcomes.

    Args:
        records: `[N]` real outcomes; those without a score are left out and counted.
        models: World models as they are before they have learned anything, by name.
        settings: How to measure.
        bounds: Lowest and highest score.
        progress: Is told what is being done.

    Raises:
        ValueError: If nothing can be measured from these outcomes.
        WorldModelError: If a model breaks its contract.
    """
    settings = settings or CalibrationSettings()
    scored = [record for record in records if record.outcome.score is not None]
    _require_scores(records, scored, bounds)
    folds = deal(scored, settings.folds, seed=settings.seed)
    measured = {
        name: _measured(name, model, scored, folds, settings, bounds, progress)
        for name, model in models.items()
    }
    statuses = Counter(record.outcome.status.name.lower() for record in scored)
    groups = {(record.execution.task, record.group) for record in scored}
    outcomes = {
        "pairs": len(scored),
        "tasks": len({task for task, _ in groups}),
        "groups": len(groups),
        "without_score": len(records) - len(scored),
        **statuses,
    }
    return Calibration(measured, outcomes, limits(scored, folds))


def _require_scores(
    records: Sequence[OutcomeRecord],
    scored: Sequence[OutcomeRecord],
    bounds: tuple[float, float],
) -> None:
    if not scored:
        raise ValueError(f"none of the {len(records)} outcomes has a score: nothing to measure")
    for record in scored:
        score = record.outcome.score
        if score is None or not bounds[0] <= score <= bounds[1]:
            raise ValueError(
                f"an outcome of task {record.execution.task!r} has the score {score}, outside "
                f"the bounds {bounds}: the header of the file has to say score_bounds"
            )


def _measured(
    name: str,
    model: WorldModel,
    records: Sequence[OutcomeRecord],
    folds: Sequence[Fold],
    settings: CalibrationSettings,
    bounds: tuple[float, float],
    progress: Progress,
) -> ModelCalibration:
    fresh = copy.deepcopy(model.state_dict())
    clock = _Clock()
    told: dict[str, list[tuple[int, Outcome]]] = {regime: [] for regime in REGIMES}
    for number, fold in enumerate(folds, start=1):
        where = f"{name}: fold {number} of {len(folds)}"
        progress(f"{where}, learning {len(fold.train)} outcomes")
        model.load_state_dict(copy.deepcopy(fresh))
        clock.learn(model, [records[place] for place in fold.train])
        places = [place for regime in REGIMES for place in fold.tests[regime]]
        outcomes: list[Outcome] = []
        for batch in _batches([records[place] for place in places]):
            progress(f"{where}, predicted {len(outcomes)} of {len(places)}")
            predicted = _checked(name, clock.predict(model, batch), len(batch), bounds)
            outcomes += clock.rerank(model, batch, predicted)
        answers = iter(zip(places, outcomes, strict=True))
        for regime in REGIMES:
            told[regime] += [next(answers) for _ in fold.tests[regime]]
    progress(f"{name}: measuring")
    qualities = {
        regime: measure(
            _predictions(records, told[regime]),
            # A map for held-out tasks must not come from them either.
            debias_across="groups" if regime == SEEN else "tasks",
            bounds=bounds,
            bins=settings.bins,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        for regime in REGIMES
        if told[regime]
    }
    return ModelCalibration(qualities, clock.seconds_per_prediction, clock.seconds_to_learn)


def _batches(records: Sequence[OutcomeRecord]) -> Iterator[list[OutcomeRecord]]:
    """Whole groups, until a batch is large enough: members share the beginning of a prompt."""
    batch: list[OutcomeRecord] = []
    for record in records:
        new_group = bool(batch) and record.group != batch[-1].group
        if new_group and len(batch) >= _BATCH:
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch


def _groups(records: Sequence[OutcomeRecord], predicted: Sequence[Outcome]) -> list[list[int]]:
    """Places of the members of each group that have a score, where there are two or more."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place, (record, outcome) in enumerate(zip(records, predicted, strict=True)):
        if outcome.score is not None:
            groups.setdefault((record.execution.task, record.group), []).append(place)
    return [places for places in groups.values() if len(places) > 1]


def _checked(
    name: str, outcomes: list[Outcome], expected: int, bounds: tuple[float, float]
) -> list[Outcome]:
    if len(outcomes) != expected:
        raise WorldModelError(
            f"world model {name} gave {len(outcomes)} outcomes for {expected} executions"
        )
    for outcome in outcomes:
        # Written so that NaN, which compares false with everything, fails too.
        if outcome.score is not None and not bounds[0] <= outcome.score <= bounds[1]:
            raise WorldModelError(
                f"world model {name} predicted score={outcome.score}, which is not within {bounds}"
            )
    return outcomes


def _predictions(
    records: Sequence[OutcomeRecord], told: Sequence[tuple[int, Outcome]]
) -> Predictions:
    real = [records[place] for place, _ in told]
    keys = [(record.execution.task, record.group) for record in real]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return Predictions(
        tasks=[record.execution.task for record in real],
        groups=np.array([numbers[key] for key in keys], dtype=np.int64),
        predicted=_floats([outcome.score for _, outcome in told]),
        p_completed=_floats([_p_completed(outcome) for _, outcome in told]),
        true=_floats([record.outcome.score for record in real]),
        completed=np.array([record.outcome.status is Status.COMPLETED for record in real]),
    )


def _p_completed(outcome: Outcome) -> float | None:
    """A model that gives no probability is as sure as it sounds."""
    if outcome.score is None:
        return None
    return outcome.details.get("p_completed", float(outcome.status is Status.COMPLETED))


def _score(outcome: Outcome) -> float:
    assert outcome.score is not None  # only scored ones are compared
    return outcome.score


def _floats(values: Sequence[float | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass
class _Clock:
    """Measures how long a model takes."""

    learning: list[float] = field(default_factory=list)
    predicting: float = 0.0
    predicted: int = 0

    def learn(self, model: WorldModel, records: Sequence[OutcomeRecord]) -> None:
        started = time.perf_counter()
        model.learn([r.execution for r in records], [r.outcome for r in records])
        self.learning.append(time.perf_counter() - started)

    def predict(self, model: WorldModel, records: Sequence[OutcomeRecord]) -> list[Outcome]:
        started = time.perf_counter()
        outcomes = model.execute([record.execution for record in records])
        self.predicting += time.perf_counter() - started
        self.predicted += len(records)
        return outcomes

    def rerank(
        self, model: WorldModel, records: Sequence[OutcomeRecord], predicted: Sequence[Outcome]
    ) -> list[Outcome]:
        """`predicted` as the rewards of a run would have them, in the order that `model` prefers.

        To reorder a group before the map is the same as behind it: the map is monotone.
        """
        outcomes, groups = list(predicted), _groups(records, predicted)
        if not groups:
            return outcomes
        started = time.perf_counter()
        asked = [[records[place].execution for place in places] for places in groups]
        preferences = model.rerank(asked)
        self.predicting += time.perf_counter() - started
        for places, preferred in zip(groups, preferences, strict=True):
            if preferred is not None:
                scores = reordered([_score(outcomes[place]) for place in places], preferred)
                for place, score in zip(places, scores, strict=True):
                    outcomes[place] = replace(outcomes[place], score=score)
        return outcomes

    @property
    def seconds_per_prediction(self) -> float:
        return self.predicting / self.predicted if self.predicted else float("nan")

    @property
    def seconds_to_learn(self) -> float:
        return float(np.mean(self.learning)) if self.learning else float("nan")
