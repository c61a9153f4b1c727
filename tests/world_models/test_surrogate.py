"""The surrogate: gates, readiness, what it learns and that it resumes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from wmrl_gym.outcomes import Execution, Outcome, Source, Status
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.features import parse, script_features
from wmrl_gym.world_models.surrogate import SurrogateWorldModel

Batch = tuple[list[Execution], list[Outcome]]


def synthetic(count: int, *, seed: int = 0, tasks: tuple[str, ...] = ("a", "b")) -> Batch:
    """Scripts whose outcome is known: too deep crashes, else the score peaks at 6 or at 2."""
    rng = np.random.default_rng(seed)
    executions, outcomes = [], []
    for _ in range(count):
        task = tasks[int(rng.integers(len(tasks)))]
        depth = float(rng.uniform(0, 10))
        script = f"from sklearn.tree import Tree\nTree(depth={depth:.3f}).fit(X, y)\n"
        executions.append(Execution(task, script, features={"depth": depth}))
        best = 6.0 if task == "a" else 2.0
        score = 0.5 + 0.5 * np.exp(-((depth - best) ** 2) / 8)
        outcomes.append(
            Outcome(Status.CRASHED, 0.1, seconds=0.1)
            if depth > 8
            else Outcome(Status.COMPLETED, float(score), seconds=depth)
        )
    return executions, outcomes


def taught(count: int = 200, **arguments: Any) -> SurrogateWorldModel:
    model = SurrogateWorldModel(**arguments)
    model.learn(*synthetic(count))
    return model


def test_it_is_found_by_name() -> None:
    assert isinstance(make_world_model("surrogate"), SurrogateWorldModel)


@pytest.mark.parametrize("artifact", ["", "  \n", "# only words", "def f(:", "return 1", "a\0b"])
def test_what_does_not_compile_is_malformed_before_anything_is_learned(artifact: str) -> None:
    for model in (SurrogateWorldModel(), taught()):
        (outcome,) = model.execute([Execution("a", artifact)])
        assert outcome.status is Status.MALFORMED
        assert outcome.score == outcome.predicted == 0.0
        assert outcome.source is Source.PREDICTED


def test_the_gate_opens_where_artifacts_need_not_be_programs() -> None:
    model = SurrogateWorldModel(min_outcomes=2, min_outcomes_per_task=0)
    recipes = [Execution("oven", f"bake at {heat} degrees") for heat in (100, 200)]
    model.learn(recipes, [Outcome(Status.COMPLETED, score) for score in (0.2, 0.4)])
    (outcome,) = model.execute([Execution("oven", "bake at 150 degrees")])
    assert outcome.status is Status.COMPLETED
    assert outcome.score == pytest.approx(0.3)  # nothing tells the two apart


def test_ready_needs_outcomes_in_all_and_of_the_task() -> None:
    model = SurrogateWorldModel(min_outcomes=6, min_outcomes_per_task=2)
    assert not model.ready("a")
    model.learn(*synthetic(5, tasks=("a",)))
    assert not model.ready("a")
    model.learn(*synthetic(1, seed=1, tasks=("b",)))
    assert model.ready("a")
    assert not model.ready("b")
    predicted, unscored = model.execute([Execution("a", "x = 1"), Execution("b", "x = 1")])
    assert predicted.score is not None
    assert unscored.status is Status.UNSCORED
    assert unscored.score is None
    assert unscored.source is Source.PREDICTED


def test_unseen_tasks_are_predicted_if_one_asks_for_it() -> None:
    assert taught(min_outcomes_per_task=0).ready("never seen")


def test_equal_executions_count_once_and_those_without_a_score_never() -> None:
    model = SurrogateWorldModel(min_outcomes=3, min_outcomes_per_task=0)
    execution = Execution("a", "x = 1")
    model.learn([execution] * 3, [Outcome(Status.COMPLETED, 0.5)] * 3)
    model.learn([Execution("a", f"x = {n}") for n in range(5)], [Outcome.unscored("we failed")] * 5)
    malformed = Outcome(Status.MALFORMED, 0.0)
    model.learn([Execution("a", f"x = {n} (") for n in range(5)], [malformed] * 5)
    assert not model.ready("a")
    assert len(model.state_dict()["examples"]) == 1


def test_the_oldest_outcomes_are_forgotten() -> None:
    model = SurrogateWorldModel(min_outcomes=1, max_outcomes=10)
    executions, outcomes = synthetic(25)
    model.learn(executions, outcomes)
    assert list(model.state_dict()["examples"]) == [e.key for e in executions[-10:]]


def test_a_prediction_is_a_probability_weighted_score() -> None:
    """Three of four equal executions completed with 0.8, one crashed with 0.1."""
    model = SurrogateWorldModel(min_outcomes=4, n_estimators=7)
    executions = [Execution("a", f"x = 1  # {n}") for n in range(4)]
    done, crashed = Outcome(Status.COMPLETED, 0.8, seconds=2.0), Outcome(Status.CRASHED, 0.1)
    model.learn(executions, [done, done, done, crashed])
    (outcome,) = model.execute([Execution("a", "x = 1")])
    assert outcome.score == pytest.approx(0.75 * 0.8 + 0.25 * 0.1)
    assert outcome.predicted == outcome.score
    assert outcome.details["p_completed"] == pytest.approx(0.75)
    assert outcome.status is Status.COMPLETED
    # the geometric mean, where the crash counts as the shortest duration of 1 ms
    assert outcome.seconds == pytest.approx(2.0**0.75 * 0.001**0.25)
    assert outcome.feedback.startswith("(predicted) completed, score about 0.6")


def test_crash_and_score_and_duration_are_learned() -> None:
    model = taught(400)
    executions, outcomes = synthetic(100, seed=7)
    predicted = model.execute(executions)
    errors = [abs(p.score - o.score) for p, o in zip(predicted, outcomes, strict=True)]
    right = [p.status is o.status for p, o in zip(predicted, outcomes, strict=True)]
    assert np.mean(errors) < 0.03
    assert np.mean(right) > 0.95
    seconds = spearmanr([p.seconds for p in predicted], [o.seconds for o in outcomes])
    assert seconds.statistic > 0.9


def test_more_outcomes_rank_a_task_better() -> None:
    executions, outcomes = synthetic(300, seed=3, tasks=("b",))
    true = [outcome.score for outcome in outcomes]

    def ranking(count: int) -> float:
        model = taught(count)
        return float(spearmanr([o.score for o in model.execute(executions)], true).statistic)

    few, many = ranking(40), ranking(300)
    assert many > 0.95
    assert few < many


def test_scripts_are_ranked_by_their_text_alone() -> None:
    model = SurrogateWorldModel()
    bare = [Execution(e.task, e.artifact) for e in synthetic(300)[0]]
    model.learn(bare, synthetic(300)[1])
    executions, outcomes = synthetic(100, seed=5)
    predicted = model.execute([Execution(e.task, e.artifact) for e in executions])
    ranking = spearmanr([p.score for p in predicted], [o.score for o in outcomes])
    assert ranking.statistic > 0.9


def test_predictions_depend_neither_on_the_batch_nor_on_names_never_seen() -> None:
    model = taught()
    executions = synthetic(20, seed=9)[0]
    together = model.execute(executions)
    assert together == [model.execute([execution])[0] for execution in executions]
    first = executions[0]
    stranger = Execution(first.task, first.artifact, features={**first.features, "new": 1e9})
    assert model.execute([stranger]) == together[:1]
    assert model.execute([]) == []


def test_equal_outcomes_and_seeds_give_equal_predictions() -> None:
    executions = synthetic(20, seed=9)[0]
    assert taught(seed=1).execute(executions) == taught(seed=1).execute(executions)
    assert taught(seed=1).execute(executions) != taught(seed=2).execute(executions)


def test_it_resumes_from_plain_data() -> None:
    model = taught()
    state = pickle.loads(pickle.dumps(json.loads(json.dumps(model.state_dict()))))
    twin = SurrogateWorldModel()
    twin.load_state_dict(state)
    executions, outcomes = synthetic(20, seed=9)
    assert twin.execute(executions) == model.execute(executions)
    for each in (model, twin):
        each.learn(executions, outcomes)
    assert twin.execute(executions) == model.execute(executions)
    assert twin.state_dict() == model.state_dict()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="min_outcomes=0"):
        SurrogateWorldModel(min_outcomes=0)
    with pytest.raises(ValueError, match="max_outcomes=10"):
        SurrogateWorldModel(min_outcomes=11, max_outcomes=10)
    with pytest.raises(ValueError, match="min_outcomes_per_task=-1"):
        SurrogateWorldModel(min_outcomes_per_task=-1)
    with pytest.raises(ValueError, match="n_estimators=0"):
        SurrogateWorldModel(n_estimators=0)


def features(script: str) -> dict[str, float]:
    tree = parse(script)
    assert tree is not None
    return script_features(tree)


def test_numbers_are_read_with_the_name_they_are_given_under() -> None:
    script = "rate = 0.5\nf(depth=9, shape=(3, 7))\ng = {'leaves': 31}\nfor k in (1, 2):\n  pass\n"
    found = features(script)
    expected = {"rate": 0.5, "depth": 9, "shape": 7, "leaves": 31, "k": 2}
    for name, number in expected.items():
        assert found[f"number/{name}"] == pytest.approx(np.log1p(number))


def test_words_are_counted_and_comments_are_not() -> None:
    found = features("import numpy as np  # np np\nnp.mean(np.ones(3), axis=0)\nx = 'median'\n")
    assert found["word/np"] == pytest.approx(np.log1p(2))
    assert {"word/numpy", "word/mean", "word/axis", "word/median"} <= set(found)
    assert "word/np np" not in found


def test_numbers_of_any_size_are_finite() -> None:
    assert np.isfinite(features(f"f(a={10**400}, b=1e308, c=True)")["number/a"])


def test_an_invalid_escape_is_no_reason_to_fail() -> None:
    assert parse('x = "\\d"') is not None
