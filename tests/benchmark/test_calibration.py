"""World models measured side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from wmrl_gym.benchmark.calibration import CalibrationSettings, calibrate
from wmrl_gym.benchmark.folds import HELD_OUT, SEEN
from wmrl_gym.errors import WorldModelError
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel
from wmrl_gym.world_models.constant import ConstantWorldModel
from wmrl_gym.world_models.surrogate import SurrogateWorldModel

QUICK = CalibrationSettings(resamples=50)


def records(tasks: int = 6, groups: int = 3, size: int = 8) -> list[OutcomeRecord]:
    """Scripts whose score is 0.5 + 0.05 `depth`, unless they raise."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(tasks * groups * size):
        depth, fails = int(rng.integers(1, 9)), rng.random() < 0.25
        ending = "raise ValueError" if fails else "model.save()"
        score = 0.1 if fails else 0.5 + 0.05 * depth
        made.append(
            OutcomeRecord(
                Execution(
                    task=f"task-{number // size % tasks}",
                    artifact=f"model = Tree(depth={depth})\nn = {number}\n{ending}\n",
                ),
                Outcome(Status.CRASHED if fails else Status.COMPLETED, score, seconds=0.1),
                group=number // size,
            )
        )
    return made


class Oracle(WorldModel):
    """Knows the outcomes, and does what `spoil` makes of them."""

    def __init__(self, given: Sequence[OutcomeRecord], score: float | None = None) -> None:
        self.known = {r.execution.key: r.outcome for r in given}
        self.score = score

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        told = [self.known[e.key] for e in executions]
        if self.score is not None:
            told = [replace(outcome, score=self.score) for outcome in told]
        return [replace(outcome, source=Source.PREDICTED) for outcome in told]


def test_models_side_by_side() -> None:
    given = records()
    surrogate = SurrogateWorldModel(min_outcomes_per_task=0)
    models = {"constant": ConstantWorldModel(), "oracle": Oracle(given), "surrogate": surrogate}
    found = calibrate(given, models, settings=QUICK)
    assert list(found.models) == ["constant", "oracle", "surrogate"]
    assert found.outcomes["pairs"] == 6 * 3 * 8
    assert found.outcomes["groups"] == 18
    assert found.outcomes["tasks"] == 6
    assert found.outcomes["crashed"] + found.outcomes["completed"] == 144
    assert found.notes == []
    for regime in (SEEN, HELD_OUT):
        of = {
            name: {k: v.estimate for k, v in model.qualities[regime].figures.items()}
            for name, model in found.models.items()
        }
        assert of["oracle"]["rank_correlation"] == pytest.approx(1.0)
        assert of["oracle"]["completion_auc"] == 1.0
        assert of["oracle"]["squared_error"] == 0.0
        assert of["constant"]["rank_correlation"] == 0.0
        assert of["constant"]["pair_accuracy"] == 0.5
        assert of["surrogate"]["rank_correlation"] > 0.8
        assert of["surrogate"]["squared_error"] < 0.2 * of["constant"]["squared_error"]
        counts = found.models["constant"].qualities[regime].counts
        assert counts["asked"] == counts["debiased"] == 144
        assert counts["groups_predicted_equal"] == 18
    assert found.models["surrogate"].seconds_to_learn >= 0.0
    assert found.models["surrogate"].seconds_per_prediction > 0.0


def test_groups_that_a_model_compares_are_measured_in_that_order() -> None:
    given = records(tasks=4)

    class Comparing(Oracle):
        """Predicts the scores of each group in reverse; compared, it knows better."""

        def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
            told = super().execute(executions)
            return [replace(o, score=1.0 - (o.score or 0.0)) for o in told]

        def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
            return [[self.known[e.key].score or 0.0 for e in group] for group in groups]

    models = {"plain": Oracle(given), "comparing": Comparing(given)}
    found = calibrate(given, models, settings=QUICK).models
    for regime in (SEEN, HELD_OUT):
        plain, comparing = (found[name].qualities[regime].figures for name in models)
        assert comparing["rank_correlation"].estimate > 0.9  # equal values stay equal
        assert plain["squared_error"].estimate == 0.0
        assert comparing["squared_error"].estimate > 0.0  # the values are those of before


def test_nothing_is_learned_from_what_is_measured() -> None:
    class Spy(ConstantWorldModel):
        learned: frozenset[str] = frozenset()

        def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
            Spy.learned = frozenset(execution.key for execution in executions)
            super().learn(executions, outcomes)

        def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
            assert not Spy.learned & {execution.key for execution in executions}
            return super().execute(executions)

    calibrate(records(), {"spy": Spy()}, settings=QUICK)
    assert Spy.learned


def test_each_fold_starts_afresh() -> None:
    # Were anything left of the fold before, the mean of the outcomes would be another.
    given = records(tasks=4)
    once = calibrate(given, {"constant": ConstantWorldModel()}, settings=QUICK)
    used = ConstantWorldModel()
    assert calibrate(given, {"constant": used}, settings=QUICK).models.keys() == {"constant"}
    figures = once.models["constant"].qualities[HELD_OUT].figures
    scores = np.array([record.outcome.score for record in given])
    tasks = np.array([record.execution.task for record in given])
    # With four tasks and four folds, the mean of a held-out task is that of the groups learned.
    assert figures["squared_error"].estimate == pytest.approx(
        np.mean([(scores[tasks == t] - scores[tasks != t].mean()) ** 2 for t in set(tasks)]),
        abs=0.02,
    )


def test_a_model_that_is_not_ready_has_no_score() -> None:
    found = calibrate(records(), {"surrogate": SurrogateWorldModel()}, settings=QUICK)
    assert found.models["surrogate"].qualities[SEEN].unscored_share == 0.0
    assert found.models["surrogate"].qualities[HELD_OUT].unscored_share == 1.0


def test_outcomes_without_a_score_are_counted_and_left_out() -> None:
    given = records()
    given[3] = replace(given[3], outcome=Outcome.unscored("the sandbox failed"))
    found = calibrate(given, {"constant": ConstantWorldModel()}, settings=QUICK)
    assert found.outcomes["pairs"] == 143
    assert found.outcomes["without_score"] == 1
    with pytest.raises(ValueError, match="none of the 1 outcomes has a score"):
        calibrate(given[3:4], {}, settings=QUICK)


def test_one_task_and_groups_of_one() -> None:
    found = calibrate(
        records(tasks=1, groups=6), {"constant": ConstantWorldModel()}, settings=QUICK
    )
    assert set(found.models["constant"].qualities) == {SEEN}
    assert "one task only" in found.notes[0]
    alone = [replace(record, group=number) for number, record in enumerate(records())]
    found = calibrate(alone, {"constant": ConstantWorldModel()}, settings=QUICK)
    quality = found.models["constant"].qualities[SEEN]
    assert quality.counts["groups_of_one"] == quality.counts["groups"] == 144
    assert np.isnan(quality.figures["rank_correlation"].estimate)
    assert not np.isnan(quality.figures["squared_error"].estimate)
    assert any("all groups have one member" in note for note in found.notes)


def test_what_breaks_the_contract_is_named() -> None:
    given = records()
    for score in (1.5, float("nan")):
        with pytest.raises(WorldModelError, match=f"world model bad predicted score={score}"):
            calibrate(given, {"bad": Oracle(given, score)}, settings=QUICK)
    with pytest.raises(ValueError, match=r"the score 0\.\d+, outside the bounds \(0\.0, 0\.05\)"):
        calibrate(given, {}, settings=QUICK, bounds=(0.0, 0.05))


@pytest.mark.parametrize("wrong", [{"folds": 2}, {"bins": 0}, {"resamples": 0}])
def test_settings_are_checked(wrong: dict[str, int]) -> None:
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        CalibrationSettings(**wrong)
