"""Graders that nobody should trust: each harms its own task, and nothing else."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import encode, graded, load
from tests.sandboxes.backends import BACKENDS
from wmrl_gym import Status
from wmrl_gym.envs.mle.grading import GraderError, GraderFault, evaluate
from wmrl_gym.envs.mle.grading.guest.values import Values
from wmrl_gym.envs.mle.grading.packages import VARIABLE
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.sandboxes import Job, select_sandbox

SAMPLE = trees.regression().sample


def task_with(root: Path, grade: str, **options: object) -> ImportedTask:
    bench = trees.MLEBench(root)
    return load(bench.add(grade=grade, board=trees.RMSE_BOARD), **options)


def graded_in(backend: str, task: ImportedTask, **limits: int) -> Values:
    """What the grader of a task says of the sample submission, in a back end of choice."""
    grader = task.grading.grader(split=False)
    grader = replace(grader, limits=replace(grader.limits, **limits))
    return evaluate(grader, encode(SAMPLE), select_sandbox(backend))


PACKAGED = trees.GRADE_RMSE.replace("import", "import rich.markup, mdurl\n    import", 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_grader_gets_the_packages_that_a_user_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """With what they require, such as mdurl; and the metric is the same in every back end."""
    task = task_with(tmp_path, PACKAGED)
    monkeypatch.setenv(VARIABLE, "rich")
    errors = SAMPLE["progression"] - trees.regression().answers["progression"]
    rmse = float((errors**2).mean() ** 0.5)
    assert graded_in(backend, task).all == pytest.approx(rmse, rel=1e-6)
    if backend == BACKENDS[0]:
        look = "import sys\nsys.path.append('..')\nimport rich\n"
        seen = select_sandbox(backend).run(Job(files={"main.py": look.encode()}))
        assert "No module named 'rich'" in seen.stderr  # an agent's script does not get them
        monkeypatch.delenv(VARIABLE)
        with pytest.raises(GraderError, match=rf"'rich' is a package .* in {VARIABLE}"):
            graded_in(backend, task)
        monkeypatch.setenv(VARIABLE, "rich, none-such")
        with pytest.raises(MissingDependencyError, match="pip install none-such"):
            graded_in(backend, task)


def fault_of(task: ImportedTask) -> tuple[GraderFault | None, str]:
    done = graded(task, SAMPLE)
    assert (done.status, done.metric, done.score) == (Status.UNSCORED, None, None)
    return done.fault, done.reason


FAILING = [
    ("import rapidfuzz_of_nowhere\n", "rapidfuzz_of_nowhere"),
    ("def grade(submission, answers\n", "SyntaxError"),
    ("raise RuntimeError('at import')\n", "at import"),
    ("def score(submission, answers): return 1.0\n", "no attribute 'grade'"),
    ("def grade(submission, answers): raise KeyError('lost')\n", "lost"),
    ("def grade(submission, answers): return float('nan')\n", "nan"),
    ("def grade(submission, answers): return float('inf')\n", "inf"),
    ("def grade(submission, answers): return None\n", "TypeError"),
    ("def grade(submission, answers): return 'high'\n", "ValueError"),
    ("import sys\ndef grade(submission, answers): sys.exit(0)\n", "exit code 0"),
    ("import os\ndef grade(submission, answers): os._exit(0)\n", "without a result"),
    ("import os\ndef grade(submission, answers): os._exit(3)\n", ""),
    ("import os\ndef grade(submission, answers): os.kill(os.getpid(), 9)\n", ""),
]


@pytest.mark.parametrize("number", range(len(FAILING)))
def test_failing_is_an_error_of_the_grader(tmp_path: Path, number: int) -> None:
    """Ways to fail go round the back ends: each of these sees several."""
    grade, reason = FAILING[number]
    task = task_with(tmp_path, grade)
    with pytest.raises(GraderError) as caught:
        graded_in(BACKENDS[number % len(BACKENDS)], task)
    assert caught.value.fault is GraderFault.ERROR
    assert reason in str(caught.value)


def test_a_task_whose_grader_fails_has_no_score(tmp_path: Path) -> None:
    fault, said = fault_of(task_with(tmp_path, "raise RuntimeError('at import')\n"))
    assert fault is GraderFault.ERROR
    assert "at import" in said


def test_hanging_is_stopped(tmp_path: Path) -> None:
    task = task_with(
        tmp_path, "def grade(submission, answers):\n        while True: pass\n", grading_s=1.0
    )
    start = time.monotonic()
    assert fault_of(task)[0] is GraderFault.TIMEOUT
    assert time.monotonic() - start < 60
    # What is known of the task is not found out again at each submission, nor kept for good.
    start = time.monotonic()
    assert fault_of(task)[0] is GraderFault.TIMEOUT
    assert time.monotonic() - start < 30
    assert task.leaderboard


def test_taking_all_memory_is_stopped(tmp_path: Path) -> None:
    grade = """\
        def grade(submission, answers):
            taken = []
            while True:
                taken.append(bytearray(64 * 2**20))
        """
    with pytest.raises(GraderError) as caught:
        graded_in("auto", task_with(tmp_path, grade), memory_mb=400)
    assert caught.value.fault is GraderFault.OUT_OF_MEMORY


def test_printing_changes_nothing(tmp_path: Path) -> None:
    noisy = trees.GRADE_RMSE.replace(
        "        if len", "        print('{\"values\": {}}' * 1000)\n        if len", 1
    )
    assert graded(task_with(tmp_path, noisy), SAMPLE).status is Status.COMPLETED


ATTEMPTS = """\
    def grade(submission, answers):
        import socket
        attempts = {{
            "read": lambda: open({secret!r}).read(),
            "change": lambda: open({grade!r}, "a").write("x"),
            "change as seen": lambda: open("../definition/grade.py", "a").write("x"),
            "call": lambda: socket.create_connection(("127.0.0.1", {port}), timeout=2),
            "package": lambda: __import__("wmrl_gym.envs.mle.catalog"),
            "other": lambda: __import__("gymnasium"),
        }}
        done = []
        for name, attempt in attempts.items():
            try:
                attempt()
                done.append(name)
            except (OSError, ImportError):
                continue
        raise RuntimeError(f"of {{len(attempts)}} attempts: {{done}}")
    """


@pytest.mark.parametrize("backend", BACKENDS)
def test_reading_writing_and_calling_out_fail(tmp_path: Path, backend: str) -> None:
    secret = trees.write(tmp_path / "secret.txt", "of the host\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        definition = tmp_path / "mlebench" / "competitions" / "diabetes-progression" / "grade.py"
        grade = ATTEMPTS.format(
            secret=str(secret), grade=str(definition), port=server.getsockname()[1]
        )
        task = task_with(tmp_path, grade)
        before = definition.read_text()
        with pytest.raises(GraderError, match=r"of 6 attempts: \[\]"):
            graded_in(backend, task)
    assert definition.read_text() == before


def test_what_a_grader_writes_into_its_arguments_stays_there(tmp_path: Path) -> None:
    grade = """\
        def grade(submission, answers):
            value = abs(submission["progression"] - answers["progression"]).mean()
            submission["progression"] = 0
            answers["progression"] = 0
            answers.drop(answers.index, inplace=True)
            return value
        """
    done = graded(task_with(tmp_path, grade), SAMPLE)
    assert done.metric is not None
    assert done.public_metric is not None
    assert min(done.metric, done.public_metric) > 10


def test_state_does_not_pass_from_one_grading_to_the_next(tmp_path: Path) -> None:
    grade = """\
        import os

        def grade(submission, answers):
            if len(submission) == 80:
                open("mark", "x").close()  # fails if an earlier grading left it
            return 1.0
        """
    task = task_with(tmp_path, grade)
    assert [graded(task, SAMPLE).metric for _ in range(2)] == [1.0, 1.0]


def test_a_hostile_task_does_not_disturb_another(tmp_path: Path) -> None:
    bench = trees.MLEBench(tmp_path)
    bench.add("good-one", board=trees.RMSE_BOARD)
    bench.add("evil-one", grade="import os\nos._exit(0)\n", board=trees.RMSE_BOARD)
    evil, good = load(bench.data, "evil-one"), load(bench.data, "good-one")
    statuses = [graded(task, SAMPLE).status for task in (evil, good, evil, good)]
    assert statuses == [Status.UNSCORED, Status.COMPLETED] * 2


def test_a_grader_that_draws_and_hashes_gives_one_submission_one_grade(tmp_path: Path) -> None:
    grade = """\
        import random
        import numpy as np

        def grade(submission, answers):
            return np.random.rand() + random.random() + hash(str(submission.columns)) % 97
        """
    task = task_with(tmp_path, grade)
    first, second = graded(task, SAMPLE), graded(task, SAMPLE)
    assert first.status is Status.COMPLETED
    assert first == second
