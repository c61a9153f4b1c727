"""A thousand sandboxes leave nothing behind."""

from __future__ import annotations

import os
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.sandboxes.helpers import job, processes_with, wait_until_gone
from wmrl_gym import Execution, Status
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.executor import MLEExecutor
from wmrl_gym.sandboxes import JobStatus, select_sandbox
from wmrl_gym.sandboxes.forkserver import ForkServerSandbox

_SCRIPT = """
import os, time
for directory in (".", os.environ["TMPDIR"], "/dev/shm"):
    with open(directory + "/{mark}", "w") as file:
        file.write("x" * 10000)
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
"""


def _files(mark: str) -> list[Path]:
    """What bears the mark, wherever something may have been put."""
    places = {Path("/var/tmp"), Path("/tmp"), Path("/dev/shm"), Path(tempfile.gettempdir())}
    patterns = (f"*{mark}*", f"*/*{mark}*", f"*/*/*{mark}*")
    return [path for place in places for pattern in patterns for path in place.glob(pattern)]


def _mounts() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if "wmrl-gym" in line or "/kaggle" in line]


def _held() -> list[str]:
    """Directories of sandboxes that this process has the locks of; other processes have theirs."""
    paths = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return sorted(path for path in paths if "/wmrl-gym-" in path)


def _graded(mark: str, count: int) -> list[Execution]:
    """Executions of scripts that leave what raw jobs leave, and a submission besides."""
    task = load_task("wine-cultivar-micro")
    copy = "import shutil; shutil.copy('../input/sample_submission.csv', 'submission.csv')\n"
    return [
        Execution(task.name, f"# {i}\n{copy}{_SCRIPT}".format(mark=mark), task_version=task.version)
        for i in range(count)
    ]


@pytest.mark.slow
def test_a_thousand_sandboxes_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six hundred jobs, and two hundred executions of the pool, each graded in one more sandbox."""
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path))
    mark = f"left-{uuid.uuid4()}"
    script = _SCRIPT.format(mark=mark)
    server = select_sandbox("forkserver")
    assert isinstance(server, ForkServerSandbox)
    server.close()  # other tests of this process may have used it
    held, mounts, threads = _held(), _mounts(), threading.active_count()
    executor = MLEExecutor(sandbox="forkserver", workers=2)
    first, *executions = _graded(mark, 201)
    executor.execute([first])
    prefix = server.prefix.path
    inside = sorted(path.name for path in prefix.rglob("*"))
    descriptors = len(os.listdir("/proc/self/fd"))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: server.run(job(script)), range(600)))
    assert {result.status for result in results} == {JobStatus.OK}
    outcomes = executor.execute(executions)
    assert {(outcome.status, outcome.score) for outcome in outcomes} == {(Status.COMPLETED, 0.5)}
    deadline = time.monotonic() + 10.0
    while len(processes_with(str(prefix))) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)  # the last job's pid 1 answers before it ends
    assert len(processes_with(str(prefix))) == 1
    assert sorted(path.name for path in prefix.rglob("*")) == inside
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert _mounts() == mounts
    executor.close()
    server.close()
    assert wait_until_gone(str(prefix)) == []
    assert not prefix.exists()
    assert _held() == held
    assert _files(mark) == []
    assert threading.active_count() == threads
