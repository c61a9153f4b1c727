"""The order of a prompt, and what gives way when it is too long."""

from __future__ import annotations

import pytest

from tests.world_models.language.scripts import TASK, bare, execution, good
from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.prompts import pose
from wmrl_gym.world_models.language.tasks import TaskFacts, task_facts

REPORT = "\n".join(f"- column {i}" for i in range(100))
CONTEXT = "The task. " + "middle " * 300 + "The last error."


def characters(prompt: Prompt) -> int:
    return len(prompt.system + prompt.shared + prompt.own)


def test_what_is_shared_comes_first_and_the_script_last() -> None:
    facts = task_facts(TASK, execution("").task_version)
    first, second = (pose(execution(good(n)), facts, characters, 10**6).prompt for n in (10, 20))
    assert first.shared == second.shared
    assert first.shared.index("# Data report") < first.shared.index("# Task and conversation")
    assert "Target cultivar" in first.shared
    assert first.own.endswith("```")
    assert "n_estimators=10" in first.own
    assert first.label == TASK


def test_the_report_gives_way_before_the_conversation_and_the_script_never() -> None:
    facts = TaskFacts(report=REPORT)
    run = bare("f(1)  # short", context=CONTEXT)
    whole = characters(pose(run, facts, characters, 10**6).prompt)

    less = pose(run, facts, characters, whole - 100)
    assert less.shortened
    assert "- column 0" in less.prompt.shared
    assert "- column 99" not in less.prompt.shared
    assert CONTEXT in less.prompt.shared

    least = pose(run, facts, characters, whole - len(REPORT) - len(CONTEXT) // 2)
    assert "# Data report" not in least.prompt.shared
    assert "The task. " in least.prompt.shared
    assert "[...]" in least.prompt.shared
    assert "The last error." in least.prompt.shared
    assert "f(1)" in least.prompt.own


def test_a_script_that_does_not_fit_alone_is_an_error() -> None:
    long = "\n".join(f"f({i})" for i in range(1000))
    with pytest.raises(ValueError, match="the script alone needs"):
        pose(bare(long, context=CONTEXT), TaskFacts(report=REPORT), characters, 5000)
