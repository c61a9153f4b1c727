from __future__ import annotations

import threading

import pytest
from rich.console import Console

from tests.agents.llm.scripts import carry_out
from wmrl_gym.agents.llm.attempts import Ended
from wmrl_gym.agents.llm.journal import Attempt
from wmrl_gym.cli import waiting
from wmrl_gym.cli.evaluation_progress import EvaluationProgress
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Execution, Outcome


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with EvaluationProgress(3, 1, Console(force_terminal=False)) as progress:
        progress.ended(Ended(Attempt("a", 2)))
        progress.ended(Ended(Attempt("b", 2), "the server is gone"))
    assert capsys.readouterr().out.splitlines() == [
        "episode 2/3: a #2 is done",
        "episode 3/3: b #2 has no score: the server is gone",
    ]


def test_stragglers_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_STRAGGLER_S", 0.02)
    told = threading.Event()
    lines: list[str] = []

    def tell(text: object, *, flush: bool = False) -> None:
        lines.append(str(text))
        told.set()

    monkeypatch.setattr(waiting, "print", tell, raising=False)

    def run(execution: Execution) -> Outcome:
        if execution.artifact == "2":
            told.clear()
            assert told.wait(30)
        return carry_out(execution)

    pool = PooledExecutor(run, workers=1)
    with EvaluationProgress(2, 0, Console(force_terminal=False)) as progress:
        with progress.answers([Attempt("a", 1), Attempt("b", 1)]):
            assert told.wait(30)
        assert "for answers for 0 s: a #1, b #1" in lines[0]
        with progress.executions(pool):
            pool.execute([Execution(task="slow", artifact=text) for text in ("1", "2", "3")])
    assert "waiting for executions for 0 s: slow x2" in lines[-1]


def test_a_terminal_shows_them_all_the_time() -> None:
    console = Console(force_terminal=True, width=100, record=True)
    with EvaluationProgress(2, 0, console) as progress:
        with progress.answers([Attempt(f"task{i}", 1) for i in range(9)]):
            console.print(progress._view())
        progress.ended(Ended(Attempt("a", 1)))
    shown = console.export_text()
    assert "waiting for answers for 0 s: task0 #1" in shown
    assert "and 1 more" in shown
    assert "1/2" in shown
