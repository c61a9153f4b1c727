"""Graders that nobody should trust: each harms its own task, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load
from wmrl_gym import Status
from wmrl_gym.envs.mle.grading import GraderFault
from wmrl_gym.envs.mle.importers.imported import ImportedTask

SAMPLE = trees.regression().sample


def task_with(root: Path, grade: str, **options: object) -> ImportedTask:
    bench = trees.MLEBench(root)
    return load(bench.add(grade=grade, board=trees.RMSE_BOARD), **options)


def fault_of(task: ImportedTask) -> tuple[GraderFault | None, str]:
    done = graded(task, SAMPLE)
    assert (done.status, done.metric, done.score) == (Status.UNSCORED, None, None)
    return done.fault, done.reason


@pytest.mark.parametrize(
    ("grade", "reason"),
    [
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
    ],
)
def test_failing_is_an_error_of_the_grader(tmp_path: Path, grade: str, reason: str) -> None:
    fault, said = fault_of(task_with(tmp_path, grade))
    assert fault is GraderFault.ERROR
    assert reason in said, said


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


@pytest.mark.slow
def test_taking_all_memory_is_stopped(tmp_path: Path) -> None:
    grade = """\
        def grade(submission, answers):
            taken = []
            while True:
                taken.append(bytearray(256 * 2**20))
        """
    assert fault_of(task_with(tmp_path, grade))[0] is GraderFault.OUT_OF_MEMORY


def test_printing_changes_nothing(tmp_path: Path) -> None:
    noisy = trees.GRADE_RMSE.replace(
        "        if len", "        print('{\"values\": {}}' * 1000)\n        if len", 1
    )
    assert graded(task_with(tmp_path, noisy), SAMPLE).status is Status.COMPLETED


@pytest.mark.parametrize(
    "attempt",
    [
        "open({secret!r}).read()",
        "open({grade!r}, 'a').write('x')",
        "open('../definition/grade.py', 'a').write('x')",
        "__import__('socket').create_connection(('127.0.0.1', {port}), timeout=2)",
        "__import__('wmrl_gym.envs.mle.catalog')",
        "__import__('gymnasium')",
    ],
)
def test_reading_writing_and_calling_out_fail(tmp_path: Path, attempt: str) -> None:
    import socket

    secret = trees.write(tmp_path / "secret.txt", "of the host\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        definition = tmp_path / "mlebench" / "competitions" / "diabetes-progression" / "grade.py"
        code = attempt.format(
            secret=str(secret), grade=str(definition), port=server.getsockname()[1]
        )
        grade = f"def grade(submission, answers):\n    {code}\n    return 1.0\n"
        task = task_with(tmp_path, grade)
        before = definition.read_text()
        assert fault_of(task)[0] is GraderFault.ERROR
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
