"""The embedding surrogate: what it learns from words, and that it resumes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.world_models.tiny_models import tiny_bert
from wmrl_gym.outcomes import Execution, Outcome, Source, Status
from wmrl_gym.world_models import make_world_model, register_world_model
from wmrl_gym.world_models.embedding import EmbeddingWorldModel
from wmrl_gym.world_models.text_encoder import TextEncoder

Batch = tuple[list[Execution], list[Outcome]]

TASKS = {"wine": "Classify wines by their chemical analysis.", "rent": "Predict the rent of flats."}
KINDS = ("forest", "boosting", "neighbours", "dummy")
GOOD = {"wine": (0.9, 0.8, 0.6, 0.5), "rent": (0.6, 0.9, 0.8, 0.5)}
"""What each kind scores on each task."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TextEncoder:
    return TextEncoder(tiny_bert(tmp_path_factory.mktemp("bert")))


def synthetic(count: int, *, seed: int = 0) -> Batch:
    """Scripts that name a kind of model, whose worth depends on the task; one in five crashes."""
    rng = np.random.default_rng(seed)
    executions, outcomes = [], []
    for _ in range(count):
        task = list(TASKS)[int(rng.integers(2))]
        kind = int(rng.integers(len(KINDS)))
        crash = rng.random() < 0.2
        script = f"model = {KINDS[kind]}({int(rng.integers(9))})\n" + "undefined(X)\n" * 4 * crash
        executions.append(Execution(task, script, context=TASKS[task]))
        outcomes.append(
            Outcome(Status.CRASHED, 0.1, seconds=0.1)
            if crash
            else Outcome(Status.COMPLETED, GOOD[task][kind], seconds=2.0)
        )
    return executions, outcomes


@pytest.fixture(scope="module")
def taught(encoder: TextEncoder) -> EmbeddingWorldModel:
    model = EmbeddingWorldModel(encoder)
    model.learn(*synthetic(160))
    return model


def test_scores_and_endings_are_learned(taught: EmbeddingWorldModel) -> None:
    executions, outcomes = synthetic(80, seed=1)
    predicted = taught.execute(executions)
    true = [outcome.score for outcome in outcomes]
    assert spearmanr([p.score for p in predicted], true).statistic > 0.8
    right = [p.status is o.status for p, o in zip(predicted, outcomes, strict=True)]
    assert np.mean(right) > 0.9
    for one in predicted:
        assert one.source is Source.PREDICTED
        assert one.predicted == one.score
        assert one.score is not None
        assert 0.1 <= one.score <= 0.9
        assert 0.0 <= one.details["p_completed"] <= 1.0
        assert 0.1 <= one.seconds <= 2.0
        assert one.details["std"] >= 0.0


def test_what_is_good_depends_on_the_task(taught: EmbeddingWorldModel) -> None:
    def score(task: str, kind: str) -> float:
        (one,) = taught.execute([Execution(task, f"model = {kind}(3)", context=TASKS[task])])
        assert one.score is not None
        return one.score

    assert score("wine", "forest") > score("wine", "neighbours")
    assert score("rent", "forest") < score("rent", "neighbours")


def test_it_is_less_sure_of_what_it_has_not_seen(taught: EmbeddingWorldModel) -> None:
    known, strange = taught.execute(
        [
            Execution("wine", "model = forest(3)", context=TASKS["wine"]),
            Execution("wine", "while True:\n    print(open('/dev/null'))", context=TASKS["wine"]),
        ]
    )
    assert strange.details["std"] > 2 * known.details["std"]


def test_comments_and_prose_are_worth_nothing(taught: EmbeddingWorldModel) -> None:
    honest, boasting = taught.execute(
        [
            Execution("wine", "model = dummy(3)", context=TASKS["wine"]),
            Execution("wine", "# boosting boosting\nmodel = dummy(3)", context=TASKS["wine"]),
        ]
    )
    assert honest.score == pytest.approx(boasting.score)


def test_it_is_not_ready_before_it_has_learned(encoder: TextEncoder) -> None:
    model = EmbeddingWorldModel(encoder, min_outcomes=6, min_outcomes_per_task=2)
    (outcome,) = model.execute([Execution("wine", "x = 1")])
    assert outcome.status is Status.UNSCORED
    assert outcome.score is None
    model.learn(*synthetic(20))
    assert model.ready("wine")
    assert not model.ready("another")
    assert EmbeddingWorldModel(encoder, min_outcomes_per_task=0).min_outcomes_per_task == 0
    assert model.execute([]) == []


def test_one_ending_only(encoder: TextEncoder) -> None:
    """Nothing completed, then nothing failed: neither divides by the empty rest."""
    executions = [Execution("wine", f"x = {n}") for n in range(4)]
    for status, score in ((Status.CRASHED, 0.1), (Status.COMPLETED, 0.7)):
        model = EmbeddingWorldModel(encoder, min_outcomes=4)
        model.learn(executions, [Outcome(status, score, seconds=1.0)] * 4)
        (outcome,) = model.execute(executions[:1])
        assert outcome.status is status
        assert outcome.score == pytest.approx(score)
        assert outcome.seconds == pytest.approx(1.0)
        assert outcome.details["std"] == 0.0


def test_artifacts_that_are_no_programs(encoder: TextEncoder) -> None:
    model = EmbeddingWorldModel(encoder, min_outcomes=8, min_outcomes_per_task=0)
    recipes = [Execution("oven", f"bake at {heat} degrees") for heat in range(100, 180, 10)]
    model.learn(recipes, [Outcome(Status.COMPLETED, n / 10) for n in range(8)])
    (outcome,) = model.execute([recipes[3]])
    assert outcome.status is Status.COMPLETED


def test_it_resumes_from_plain_data(taught: EmbeddingWorldModel, encoder: TextEncoder) -> None:
    state = pickle.loads(pickle.dumps(json.loads(json.dumps(taught.state_dict()))))
    twin = EmbeddingWorldModel(encoder)
    twin.load_state_dict(state)
    executions, outcomes = synthetic(10, seed=2)
    assert twin.execute(executions) == taught.execute(executions)
    twin.learn(executions, outcomes)
    assert twin.state_dict() != state


def test_it_is_found_by_name(tmp_path: Path) -> None:
    place = tiny_bert(tmp_path / "bert")
    model = make_world_model(f"embedding:{place}")
    assert isinstance(model, EmbeddingWorldModel)
    assert model.encoder.name == str(place)
    for wrong in ("embedding:", "embedding+head"):
        with pytest.raises(ValueError, match="world_model="):
            make_world_model(wrong)
    with pytest.raises(ValueError, match="taken by a world model of this library"):
        register_world_model("embedding", "package.module:factory")


@pytest.mark.llm
def test_the_bundled_model_learns_too() -> None:
    model = make_world_model("embedding")
    assert isinstance(model, EmbeddingWorldModel)
    model.learn(*synthetic(120))
    executions, outcomes = synthetic(40, seed=1)
    predicted = [one.score for one in model.execute(executions)]
    assert spearmanr(predicted, [outcome.score for outcome in outcomes]).statistic > 0.8
