"""The stack: a member is worth what it is worth on outcomes that it has not learned."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.world_models.language.canned_server import canned, chat, served_model
from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.outcomes import Execution, Outcome, Source, Status, WorldModel
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.constant import ConstantWorldModel
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
from wmrl_gym.world_models.stacked import StackedWorldModel
from wmrl_gym.world_models.surrogate import SurrogateWorldModel

Batch = tuple[list[Execution], list[Outcome]]


def scores_by_script(count: int, *, seed: int = 0) -> Batch:
    """Scripts that tell nothing; what they score is drawn at random."""
    rng = np.random.default_rng(seed)
    executions = [Execution("a", f"run({seed}, {n}, '{rng.bytes(4).hex()}')") for n in range(count)]
    outcomes = [Outcome(Status.COMPLETED, float(rng.random()), seconds=1.0) for _ in executions]
    return executions, outcomes


class Memory(WorldModel):
    """Remembers what it learned by heart, and of anything else says one half."""

    def __init__(self) -> None:
        self.known: dict[str, float] = {}
        self.learned: list[list[str]] = []

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [
            Outcome(Status.COMPLETED, self.known.get(e.key, 0.5), source=Source.PREDICTED)
            for e in executions
        ]

    def learn(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        self.learned.append([e.artifact for e in executions])
        pairs = zip(executions, outcomes, strict=True)
        self.known |= {e.key: o.score for e, o in pairs if o.score is not None}

    def state_dict(self) -> dict[str, Any]:
        return {"known": dict(self.known)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.known = dict(state["known"])


class Oracle(WorldModel):
    """Knows what a script scores, on a scale of its own, and says no more."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.closed = 0

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [
            Outcome(
                Status.COMPLETED,
                (1.0 - self.scores[e.artifact]) ** 3,
                feedback="submission.csv is valid.",
                source=Source.PREDICTED,
                details={"std": 0.5, "mass": math.nan},
            )
            if e.artifact in self.scores
            else Outcome.unscored("no answer", Source.PREDICTED)
            for e in executions
        ]

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        return [[float(len(e.artifact)) for e in group] for group in groups]

    def close(self) -> None:
        self.closed += 1


def said(batch: Batch) -> dict[str, float]:
    executions, outcomes = batch
    pairs = zip(executions, outcomes, strict=True)
    return {e.artifact: o.score for e, o in pairs if o.score is not None}


def test_a_member_that_knows_is_believed_whatever_its_scale() -> None:
    learned, new = scores_by_script(120), scores_by_script(40, seed=1)
    stack = StackedWorldModel(SurrogateWorldModel(), [Oracle(said(learned) | said(new))])
    assert not stack.ready("a")
    stack.learn(*learned)
    assert stack.ready("a")
    predicted = stack.execute(new[0])
    true = [outcome.score for outcome in new[1]]
    assert spearmanr([p.score for p in predicted], true).statistic > 0.95
    # 0.5 is the score of its `details`, and never a feature of the wrong name
    names = next(iter(stack.top.state_dict()["examples"].values()))["features"]
    assert names["member/0/std"] == 0.5
    assert names["member/0/known"] == 1.0
    assert "member/0/mass" not in names


def test_a_member_that_learns_by_heart_fools_nobody() -> None:
    learned, new = scores_by_script(120), scores_by_script(60, seed=1)
    memory = Memory()
    stack = StackedWorldModel(SurrogateWorldModel(), [memory])
    stack.learn(*learned)
    examples = stack.top.state_dict()["examples"].values()
    assert {e["features"]["member/0/score"] for e in examples} == {0.5}
    assert len(memory.known) == 120
    # Of new scripts nothing can be known, and the stack says so: all predictions are alike.
    assert np.ptp([p.score for p in stack.execute(new[0])]) < 0.5


def test_language_models_as_members_reach_the_top_out_of_fold(tmp_path: Path) -> None:
    tiny = TransformersBackend(tiny_llama(tmp_path), rows=8)
    executions = [Execution("a", f"x = fit({n})\nsave(x)") for n in range(10)]
    outcomes = [Outcome(Status.COMPLETED, 0.5 + n / 20, seconds=1.0) for n in range(10)]
    outcomes[3] = outcomes[7] = Outcome(Status.CRASHED, 0.1, seconds=1.0)

    def head() -> LanguageWorldModel:
        return LanguageWorldModel(tiny, mode="head", min_outcomes=4)

    told = {"0": 0.25, "9": 0.5, "the": 0.25}
    with canned(served_model(lambda body: chat("9", told))) as url:
        expected = LanguageWorldModel(ServerBackend(url, deadline_s=20))
        stack = StackedWorldModel(SurrogateWorldModel(min_outcomes=8), [head(), expected])
        stack.learn(executions, outcomes)
        predicted = stack.execute(executions)
        stack.close()
    assert all(prediction.score is not None for prediction in predicted)
    features = [e["features"] for e in stack.top.state_dict()["examples"].values()]
    for fold in range(0, 10, 2):
        others = [n for n in range(10) if n not in (fold, fold + 1)]
        honest = head()
        honest.learn([executions[n] for n in others], [outcomes[n] for n in others])
        for n, said in enumerate(honest.execute(executions[fold : fold + 2]), start=fold):
            assert features[n]["member/0/score"] == pytest.approx(said.score, abs=1e-3)
            of_it = features[n]["member/0/p_completed"]
            assert of_it == pytest.approx(said.details["p_completed"], abs=1e-3)
    for row in features:  # a third an error, two thirds the best
        assert row["member/1/score"] == pytest.approx(0.1 / 3 + 2 / 3)
        assert row["member/1/p_completed"] == pytest.approx(2 / 3)
        assert row["member/1/mass"] == pytest.approx(0.75)


def test_folds_are_neighbours_and_what_came_before_stays_known() -> None:
    memory = Memory()
    stack = StackedWorldModel(SurrogateWorldModel(), [memory])
    first, second = scores_by_script(10), scores_by_script(3, seed=1)
    stack.learn(*first)
    artifacts = [e.artifact for e in first[0]]
    # Five folds of two: each is left out once, then everything is learned.
    left_out = [[a for a in artifacts if a not in learned] for learned in memory.learned]
    assert left_out == [artifacts[0:2], artifacts[2:4], artifacts[4:6], artifacts[6:8],
                        artifacts[8:10], []]  # fmt: skip
    stack.learn(*second)
    assert len(memory.known) == 13
    stack.learn([], [])
    assert len(memory.learned) == 6 + 4


def test_a_member_without_an_answer_leaves_its_numbers_out() -> None:
    stack = StackedWorldModel(SurrogateWorldModel(min_outcomes=8), [Oracle({})])
    learned = scores_by_script(12)
    stack.learn(*learned)
    assert all(p.score is not None for p in stack.execute(learned[0]))
    examples = stack.top.state_dict()["examples"].values()
    assert not any(name.startswith("member/") for e in examples for name in e["features"])


def test_feedback_is_that_of_a_member_that_agrees() -> None:
    learned = scores_by_script(40)
    oracle = Oracle(said(learned))
    stack = StackedWorldModel(SurrogateWorldModel(), [ConstantWorldModel(), oracle])
    stack.learn(*learned)
    (outcome,) = stack.execute(learned[0][:1])
    assert outcome.status is Status.COMPLETED
    assert (
        outcome.feedback == ConstantWorldModel.execute(stack.members[0], learned[0][:1])[0].feedback
    )
    alone = StackedWorldModel(SurrogateWorldModel(), [oracle])
    alone.learn(*learned)
    assert alone.execute(learned[0][:1])[0].feedback == "submission.csv is valid."


def test_preferences_are_those_of_the_first_member_that_has_any() -> None:
    stack = StackedWorldModel(SurrogateWorldModel(), [ConstantWorldModel(), Oracle({})])
    groups = [[Execution("a", "x"), Execution("a", "xyz")]]
    assert stack.rerank(groups) == [[1.0, 3.0]]
    assert StackedWorldModel(SurrogateWorldModel(), [Memory()]).rerank(groups) == [None]


def test_it_resumes_from_plain_data() -> None:
    stack = make_world_model("stacked:surrogate,constant,surrogate")
    stack.learn(*scores_by_script(60))
    twin = make_world_model("stacked:surrogate,constant,surrogate")
    twin.load_state_dict(json.loads(json.dumps(stack.state_dict())))
    executions, _ = scores_by_script(5, seed=2)
    assert twin.execute(executions) == stack.execute(executions)
    with pytest.raises(ValueError, match="state has 2 members, this stack 1"):
        make_world_model("stacked:surrogate,constant").load_state_dict(stack.state_dict())


def test_all_are_closed() -> None:
    oracle = Oracle({})
    StackedWorldModel(SurrogateWorldModel(), [oracle, oracle]).close()
    assert oracle.closed == 2


@pytest.mark.parametrize("name", ["stacked", "stacked:surrogate", "stacked:surrogate,", "stacked:"])
def test_malformed_names(name: str) -> None:
    with pytest.raises(ValueError, match="world_model='stacked"):
        make_world_model(name)


def test_a_stack_needs_a_member() -> None:
    with pytest.raises(ValueError, match=r"members=\[\]"):
        StackedWorldModel(SurrogateWorldModel(), [])
