"""Episodes that come and go, and threads that wait for real executions only."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from tests.agents.llm.scripts import DigitsEnv, HalvingModel, carry_out
from wmrl_gym.agents.llm import GroupScorer
from wmrl_gym.agents.verl.service import EpisodeService
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Execution, Outcome

PATIENCE_S = 30


class Gate:
    """Carries out nothing before it is opened."""

    def __init__(self) -> None:
        self.opened, self.reached = threading.Event(), threading.Event()

    def __call__(self, execution: Execution) -> Outcome:
        self.reached.set()
        assert self.opened.wait(PATIENCE_S)
        return carry_out(execution)


class SlowModel(HalvingModel):
    """Predicts nothing before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let, self.reached = threading.Event(), threading.Event()

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.reached.set()
        assert self.let.wait(PATIENCE_S)
        return super().execute(executions)


def service(gate: Gate | None = None, model: HalvingModel | None = None) -> EpisodeService:
    def make() -> DigitsEnv:
        env = DigitsEnv()
        env.executor = PooledExecutor(gate or carry_out, workers=4)
        return env

    scorer = GroupScorer(
        make, episodes=8, world_model=model or HalvingModel(), anchor_fraction=0.5, seed=0
    )
    return EpisodeService(scorer)


def groups(anchor: bool) -> list[int]:
    drawn = GroupScorer(DigitsEnv, episodes=1, anchor_fraction=0.5, seed=0).correction
    return [group for group in range(8) if drawn.is_anchor(group) == anchor]


def test_an_episode_from_beginning_to_end() -> None:
    serve = service()
    slot = serve.open("a", groups(anchor=False)[0]).result(PATIENCE_S)
    assert serve.act(slot, "9").result(PATIENCE_S).observation == "predicted"
    assert serve.act(slot, "0 done").result(PATIENCE_S).done
    score = serve.close_episode(slot).result(PATIENCE_S)
    assert (score.reward, score.anchor, score.true) == (0.5, False, None)
    assert serve.open("a", 1).result(PATIENCE_S) == slot
    serve.close()


def test_a_real_execution_holds_up_nobody_else() -> None:
    gate = Gate()
    serve = service(gate)
    real, predicted = groups(anchor=True)[0], groups(anchor=False)[0]
    waits = serve.open("a", real).result(PATIENCE_S)
    answer = serve.act(waits, "9")
    assert gate.reached.wait(PATIENCE_S)
    goes_on = serve.open("a", predicted).result(PATIENCE_S)
    assert serve.act(goes_on, "9").result(PATIENCE_S).observation == "predicted"
    assert serve.close_episode(goes_on).result(PATIENCE_S).reward == 0.5
    assert serve.update().result(PATIENCE_S)["pairs"] == 0
    assert not answer.done()
    gate.opened.set()
    assert answer.result(PATIENCE_S).observation == "metric 1.00"
    score = serve.close_episode(waits).result(PATIENCE_S)
    assert (score.reward, score.predicted, score.true) == (1.0, 0.5, 1.0)
    serve.close()


def test_what_gathers_meanwhile_is_one_batch() -> None:
    model = SlowModel()
    serve = service(model=model)
    slots = [serve.open("a", groups(anchor=False)[0]).result(PATIENCE_S) for _ in range(4)]
    first = serve.act(slots[0], "1")
    assert model.reached.wait(PATIENCE_S)
    others = [serve.act(slot, "2") for slot in slots[1:]]
    model.let.set()
    for answer in [first, *others]:
        answer.result(PATIENCE_S)
    assert model.batches == [1, 3]
    serve.close()


def test_who_leaves_in_the_middle_harms_nobody() -> None:
    gate = Gate()
    serve = service(gate)
    group = groups(anchor=True)[0]
    leaver, stayer = (serve.open("a", group).result(PATIENCE_S) for _ in range(2))
    answers = [serve.act(slot, "9") for slot in (leaver, stayer)]
    assert gate.reached.wait(PATIENCE_S)
    serve.close_episode(leaver).result(PATIENCE_S)
    gate.opened.set()
    assert answers[1].result(PATIENCE_S).observation == "metric 1.00"
    assert serve.close_episode(stayer).result(PATIENCE_S).reward == 1.0
    serve.close()


def test_an_error_reaches_who_asked() -> None:
    serve = service()
    with pytest.raises(KeyError):
        serve.act(5, "9").result(PATIENCE_S)
    slots = [serve.open("a", 0).result(PATIENCE_S) for _ in range(8)]
    assert len(set(slots)) == 8
    with pytest.raises(ValueError, match="episodes=8 are open already"):
        serve.open("a", 0).result(PATIENCE_S)
    serve.close()
