"""What a training says while it waits for a batch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import pytest

from tests.agents.llm.scripts import DigitsEnv, HalvingModel, carry_out
from wmrl_gym.agents.llm import GroupScorer
from wmrl_gym.cli import waiting
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Execution, Outcome


def test_predictions_and_then_executions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_STRAGGLER_S", 0.02)
    lines: list[str] = []
    said = {what: threading.Event() for what in ("predictions", "executions")}

    def tell(text: object, *, flush: bool) -> None:
        lines.append(str(text))
        said[lines[-1].split()[2]].set()

    monkeypatch.setattr(waiting, "print", tell, raising=False)

    class SlowModel(HalvingModel):
        def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
            assert said["predictions"].wait(30)
            return super().execute(executions)

    def slow(execution: Execution) -> Outcome:
        assert said["executions"].wait(30)
        return carry_out(execution)

    def make() -> DigitsEnv:
        env = DigitsEnv()
        env.executor = PooledExecutor(slow, workers=2)
        return env

    scorer = GroupScorer(make, episodes=4, world_model=SlowModel(), anchor_fraction=1.0)
    scorer.watch = partial(waiting.lines_while_scored, scorer.real)
    scorer.score_group("wine", ["1", "2", "3"])
    scorer.close()
    assert lines[0] == "waiting for predictions for 0 s: wine x3"
    assert lines[-1] == "waiting for executions for 0 s: wine x3"
