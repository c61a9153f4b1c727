"""A script that wants the hidden answers, or a better grade than it earned, in every back end.

Every attack fails, and what the agent is shown says why.
"""

from __future__ import annotations

import os
import socket
import textwrap
import time
from pathlib import Path

import pytest

from tests.envs.mle.toy_task import table_task
from tests.sandboxes.backends import BACKENDS
from tests.sandboxes.helpers import wait_until_gone
from wmrl_gym import Execution, Outcome, Status
from wmrl_gym.envs.mle.executor import MLEExecutor

TASK = "wine-cultivar"
SAMPLE = "import shutil; shutil.copy('../input/sample_submission.csv', 'submission.csv')\n"
TRY = """
import os, socket, sys
def attempt(name, action):
    try:
        print("FOUND", name, repr(action())[:200])
    except Exception as error:
        print(f"refused {name}: {type(error).__name__}: {error}")
"""


@pytest.fixture(params=BACKENDS)
def executor(request: pytest.FixtureRequest) -> MLEExecutor:
    return MLEExecutor(sandbox=request.param, workers=1)


def run(executor: MLEExecutor, script: str, timeout_s: float = 60.0) -> Outcome:
    task = table_task(TASK)
    _ = task.private  # the answers are there to be found
    execution = Execution(TASK, textwrap.dedent(script), task.version, timeout_s=timeout_s)
    (outcome,) = executor.execute([execution])
    return outcome


def assert_refused(outcome: Outcome, count: int) -> None:
    """Nothing was found, and each of the attempts says why."""
    assert "FOUND" not in outcome.feedback, outcome.feedback
    assert outcome.feedback.count("refused ") == count, outcome.feedback


def test_by_path(executor: MLEExecutor) -> None:
    private = table_task(TASK).private
    paths = [
        private / "test.csv",
        private,
        f"/proc/self/root{private}/test.csv",
        f"/proc/1/root{private}/test.csv",
        f"/proc/{os.getpid()}/root{private}/test.csv",
        f"/proc/{os.getpid()}/cwd",
        "../input/../private/test.csv",
        "../../private/test.csv",
    ]
    tries = "".join(
        f"attempt({str(path)!r}, lambda: os.listdir({str(path)!r}) "
        f"if os.path.isdir({str(path)!r}) else open({str(path)!r}).read())\n"
        for path in paths
    )
    assert_refused(run(executor, TRY + tries), len(paths))


def test_by_searching_everything(executor: MLEExecutor) -> None:
    """Every file that can be read and could be a table is looked into."""
    script = """
        import itertools, os
        seen = 0
        places = ("/", "..", "/kaggle", "/tmp", "/var/tmp", "/home", "/root", "/opt")
        for directory, names, files in itertools.chain(*map(os.walk, places)):
            names[:] = [n for n in names if os.path.join(directory, n) not in ("/proc", "/sys")]
            for name in files:
                if name.endswith((".csv", ".json", ".txt", ".gz")):
                    try:
                        text = open(os.path.join(directory, name), "rb").read(1 << 20)
                    except OSError:
                        continue
                    seen += 1
                    if b"cultivar,Usage" in text:
                        print("FOUND", directory, name)
        for name in os.listdir("../input"):
            seen += b"cultivar,Usage" not in open("../input/" + name, "rb").read()
        print("looked into more than 3:", seen > 3)
    """
    outcome = run(executor, script)
    assert "looked into more than 3: True" in outcome.feedback
    assert "FOUND" not in outcome.feedback


def test_by_proc(executor: MLEExecutor) -> None:
    script = """
        import glob
        found = refused = 0
        for path in [f"/proc/{n}/{what}" for n in (1, "self", PARENT, HOST)
                     for what in ("environ", "cmdline", "maps")]:
            try:
                text = open(path, "rb").read()
            except OSError:
                refused += 1
                continue
            if b"/private" in text or b"WMRL_GYM" in text or b"pytest" in text:
                print("FOUND", path)
        for pid in glob.glob("/proc/[0-9]*"):
            if pid.endswith("/self"):
                continue
            for fd in glob.glob(pid + "/fd/*"):
                try:
                    text = open(fd, "rb", buffering=0)
                except OSError:
                    continue
                if "/private" in text.name:
                    print("FOUND", fd)
        print("done", refused > 0)
    """
    script = textwrap.dedent(script).replace("HOST", str(os.getpid()))
    outcome = run(executor, script.replace("PARENT", str(os.getppid())))
    assert "FOUND" not in outcome.feedback, outcome.feedback
    assert "done True" in outcome.feedback


def test_by_environment(executor: MLEExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMRL_GYM_TEST_SECRET", "where-the-answers-are")
    outcome = run(executor, "import os\nprint(sorted(os.environ.items()))")
    assert "where-the-answers-are" not in outcome.feedback
    assert "WMRL_GYM" not in outcome.feedback


@pytest.mark.parametrize(
    ("make", "says"),
    [
        ("os.symlink({answers!r}, 'submission.csv')", "link"),
        ("os.symlink('/proc/self/environ', 'submission.csv')", "link"),
        ("os.symlink('../input/sample_submission.csv', 'submission.csv')", "link"),
        ("os.mkfifo('submission.csv')", "regular file"),
        ("os.mkdir('submission.csv')", "regular file"),
    ],
)
def test_a_submission_that_is_no_file(executor: MLEExecutor, make: str, says: str) -> None:
    answers = str(table_task(TASK).private / "test.csv")
    outcome = run(executor, "import os\n" + make.format(answers=answers))
    assert (outcome.status, outcome.score) == (Status.INVALID_RESULT, 0.2), outcome.feedback
    assert says in outcome.feedback, outcome.feedback


def test_a_hard_link_to_the_answers(executor: MLEExecutor) -> None:
    answers = str(table_task(TASK).private / "test.csv")
    outcome = run(executor, f"import os\nos.link({answers!r}, 'submission.csv')")
    assert outcome.status is Status.CRASHED
    assert "Error" in outcome.feedback


@pytest.mark.parametrize(
    ("write", "says"),
    [
        ("file.truncate(2**27)", "a sparse file"),
        ("file.write(bytes(80 * 2**20))", "more than 67108864 bytes"),
        ("[file.write(bytes(2**20)) for _ in range(10 * 2**10)]", "as large as the limit"),
    ],
    ids=["sparse", "80 MB", "10 GB"],
)
def test_a_submission_of_any_size(executor: MLEExecutor, write: str, says: str) -> None:
    """Of 10 GB, no more is written than one file may hold."""
    script = f"""
        with open("submission.csv", "wb") as file:
            try:
                {write}
            except OSError as error:
                print("refused:", error)
    """
    outcome = run(executor, script)
    assert (outcome.status, outcome.score) == (Status.INVALID_RESULT, 0.2), outcome.feedback
    assert says in outcome.feedback


def test_by_importing_the_package_of_the_data(executor: MLEExecutor) -> None:
    tries = """
attempt("wine", lambda: __import__("sklearn.datasets").datasets.load_wine().target)
attempt("wmrl_gym", lambda: __import__("wmrl_gym"))
attempt("river", lambda: __import__("river"))
attempt("statsmodels", lambda: __import__("statsmodels"))
"""
    assert_refused(run(executor, TRY + tries), 4)


def test_by_a_daemon_that_writes_late(executor: MLEExecutor) -> None:
    mark = f"late-writer-{os.getpid()}-{time.monotonic_ns()}"
    script = f"""
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(0), os.close(1), os.close(2)
                os.execv(sys.executable, [sys.executable, "-c", (
                    "import time, shutil; time.sleep(0.3)\\n"
                    "while True: shutil.copy('../input/sample_submission.csv', 'submission.csv')"
                ), {mark!r}])
            os._exit(0)
        time.sleep(0.05)
    """
    outcome = run(executor, script)
    assert outcome.status is Status.NO_RESULT, outcome.feedback
    assert "left no submission.csv" in outcome.feedback
    assert wait_until_gone(mark) == []


def test_by_writing_the_graders_files(executor: MLEExecutor) -> None:
    honest = run(executor, SAMPLE)
    forged = """
import json, os
for name in ("grading-result.json", "../grading-result.json", "answers.csv", "submitted",
             "grading-request.json", "grading-code.zip", "sitecustomize.py", "pandas.py", "/tmp/x"):
    try:
        with open(name, "w") as file:
            json.dump({"values": {"private": 0.0, "public": 0.0, "all": 0.0}}, file)
    except OSError as error:
        print("refused", error)
import sklearn.metrics
sklearn.metrics.log_loss = lambda *a, **k: 0.0
"""
    outcome = run(executor, SAMPLE + forged)
    assert (outcome.status, outcome.score) == (honest.status, honest.score), outcome.feedback
    assert outcome.details == honest.details


def test_what_one_script_leaves_the_next_does_not_find(executor: MLEExecutor) -> None:
    leave = """
        import os
        for place in (".", "/tmp", "/dev/shm", "..", os.environ["HOME"]):
            try:
                open(os.path.join(place, "left-behind"), "w").close()
            except OSError:
                pass
        print("left", os.path.exists("left-behind"))
    """
    look = """
        import os
        for place in (".", "/tmp", "/dev/shm", "..", os.environ["HOME"]):
            if os.path.exists(os.path.join(place, "left-behind")):
                print("FOUND", place)
        print("looked")
    """
    assert "left True" in run(executor, leave).feedback
    outcome = run(executor, look)
    assert "looked" in outcome.feedback
    assert "FOUND" not in outcome.feedback


def test_by_changing_the_data_or_the_library(executor: MLEExecutor) -> None:
    tries = """
import numpy
attempt("data", lambda: open("../input/train.csv", "a"))
attempt("library", lambda: open(os.path.join(numpy.__path__[0], "evil.py"), "w"))
attempt("prefix", lambda: open(os.path.join(sys.prefix, "evil.pth"), "w"))
"""
    assert_refused(run(executor, TRY + tries), 3)


def test_by_network(executor: MLEExecutor) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = listener.getsockname()
        tries = f"""
attempt("loopback", lambda: socket.create_connection({address!r}, timeout=3))
attempt("outside", lambda: socket.create_connection(("192.0.2.1", 80), timeout=3))
attempt("names", lambda: socket.getaddrinfo("example.com", 80))
"""
        assert_refused(run(executor, TRY + tries), 3)


def test_the_private_metric_is_never_shown(executor: MLEExecutor) -> None:
    outcome = run(executor, SAMPLE)
    shown = f"{outcome.details['metric_public']:.6g}"
    assert f"Public log_loss: {shown}" in outcome.feedback
    assert Path(table_task(TASK).private / "test.csv").is_file()
