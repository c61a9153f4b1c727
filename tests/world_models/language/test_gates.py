"""What is certain without a model, and what is not."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.world_models.language.scripts import TASK, execution, good
from wmrl_gym.interchange.outcomes import shipped_outcomes
from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.language.gates import Verdict, gate
from wmrl_gym.world_models.language.tasks import TaskFacts, importable_packages, task_facts


def facts() -> TaskFacts:
    return task_facts(TASK, execution("").task_version)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("", Status.MALFORMED),
        ("# nothing", Status.MALFORMED),
        ("def f(", Status.MALFORMED),
        ("return 1", Status.MALFORMED),
        (f"import xgboost\n{good()}", Status.CRASHED),
        (f"from torch import nn\n{good()}", Status.CRASHED),
        # These may still crash on their way.
        (good().replace("submission.csv", "out.csv"), None),
        (good().replace("../input/", "data/"), None),
    ],
)
def test_certain_endings(script: str, status: Status | None) -> None:
    verdict = gate(script, facts())
    assert verdict is not None
    assert verdict.status is status


@pytest.mark.parametrize(
    "script",
    [
        good(),
        f"try:\n    import xgboost\nexcept ImportError:\n    pass\n{good()}",
        f"def unused():\n    import torch\n{good()}",
        f"from __future__ import annotations\nimport os.path, sklearn.svm\n{good()}",
        f"import dateutil, threadpoolctl\n{good()}",  # come with those that are promised
        good().replace('"submission.csv"', '"submission" + ".csv"'),
        "import os\nfor root, _, names in os.walk('..'):\n    pass\nopen('submission.csv', 'w')",
    ],
)
def test_what_may_work_is_left_to_the_model(script: str) -> None:
    assert gate(script, facts()) is None


def test_a_mention_in_a_comment_is_no_data_and_no_submission() -> None:
    verdict = gate("x = 1  # reads ../input, writes submission.csv", facts())
    assert verdict == Verdict(None)


def test_no_verdict_contradicts_a_real_execution() -> None:
    wrong, fired = [], Counter[Status | None]()
    for record in shipped_outcomes().records:
        run, real = record.execution, record.outcome.status
        verdict = gate(run.artifact, task_facts(run.task, run.task_version))
        if verdict is None:
            continue
        fired[verdict.status] += 1
        if real is Status.COMPLETED or verdict.status not in (None, real):
            wrong.append((record.group, verdict.status, real))
    assert wrong == []
    assert set(fired) == {Status.MALFORMED, Status.CRASHED, None}


def test_nothing_is_known_of_the_packages_of_an_image_of_the_users_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WMRL_GYM_DOCKER_IMAGE", "mine:1")
    assert importable_packages() is None
    assert gate(f"import torch\n{good()}", facts()) is None


def test_the_import_error_reads_as_a_real_one() -> None:
    verdict = gate(f"\nimport xgboost.sklearn\n{good()}", facts())
    assert verdict is not None
    assert 'File "main.py", line 2' in verdict.said
    assert "ModuleNotFoundError: No module named 'xgboost'" in verdict.said


def test_of_unknown_tasks_only_what_does_not_compile_is_certain() -> None:
    unknown = task_facts("a task of someone else's", "1")
    assert not unknown.known
    assert gate("import torch", unknown) is None
    assert gate("def f(", unknown) is not None
