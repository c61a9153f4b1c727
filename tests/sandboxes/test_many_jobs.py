"""A thousand executions leave nothing behind."""

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
from wmrl_gym.sandboxes import JobStatus
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


@pytest.mark.slow
def test_a_thousand_executions_leave_nothing_behind() -> None:
    mounts, threads = _mounts(), threading.active_count()
    mark = f"left-{uuid.uuid4()}"
    script = _SCRIPT.format(mark=mark)
    server = ForkServerSandbox()
    assert server.run(job(script)).status is JobStatus.OK
    prefix = server.prefix.path
    inside = sorted(path.name for path in prefix.rglob("*"))
    descriptors = len(os.listdir("/proc/self/fd"))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: server.run(job(script)), range(1000)))
    assert {result.status for result in results} == {JobStatus.OK}
    deadline = time.monotonic() + 10.0
    while len(processes_with(str(prefix))) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)  # the last job's pid 1 answers before it ends
    assert len(processes_with(str(prefix))) == 1
    assert sorted(path.name for path in prefix.rglob("*")) == inside
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert _mounts() == mounts
    server.close()
    assert wait_until_gone(str(prefix)) == []
    assert not prefix.exists()
    assert _files(mark) == []
    assert threading.active_count() == threads
