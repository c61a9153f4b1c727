"""What is certain without a model, and what is not."""

from __future__ import annotations

import pytest

from tests.world_models.language.scripts import TASK, execution, good
from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.language.gates import gate
from wmrl_gym.world_models.language.tasks import TaskFacts, task_facts


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
        (good().replace("submission.csv", "out.csv"), Status.NO_RESULT),
        (good().replace("../input/", "data/"), Status.INVALID_RESULT),
    ],
)
def test_certain_endings(script: str, status: Status) -> None:
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
        good().replace('"submission.csv"', '"submission" + ".csv"'),
        "import os\nfor root, _, names in os.walk('..'):\n    pass\nopen('submission.csv', 'w')",
    ],
)
def test_what_may_work_is_left_to_the_model(script: str) -> None:
    assert gate(script, facts()) is None


def test_a_mention_in_a_comment_is_no_data_and_no_submission() -> None:
    verdict = gate("x = 1  # reads ../input, writes submission.csv", facts())
    assert verdict is not None
    assert verdict.status is Status.NO_RESULT


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
