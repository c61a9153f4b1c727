"""Containers of callers that are gone, and of callers that are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.containers import engine, labelled, wait_for_container
from tests.sandboxes.helpers import job
from wmrl_gym.sandboxes import JobResult, JobStatus
from wmrl_gym.sandboxes.docker.image import built_image
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox
from wmrl_gym.sandboxes.docker.sweep import OWNER, is_abandoned, labels_of

_CALLER = """
import threading
from wmrl_gym.sandboxes import Job
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox
sandbox = DockerSandbox()
sandbox.probe()
code = b"import time; time.sleep(60)"
for _ in range(2):
    job = Job(files={"main.py": code})
    threading.Thread(target=sandbox.run, args=[job], daemon=True).start()
print(sandbox._site.owner, flush=True)
threading.Event().wait()
"""


@pytest.fixture
def sandbox() -> Iterator[DockerSandbox]:
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def caller() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process with two jobs in containers, and what it calls itself in labels."""
    process = subprocess.Popen([sys.executable, "-c", _CALLER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    owner = process.stdout.readline().strip()
    while len(_containers_of(owner, "running")) < 2:
        time.sleep(0.05)
    yield process, owner
    process.kill()
    process.wait()
    process.stdout.close()


def _containers_of(owner: str, state: str = "") -> list[str]:
    found = [c for c in labelled() if c["Labels"][OWNER] == owner]
    return [str(c["Id"]) for c in found if not state or c["State"] == state]


def test_the_next_start_removes_what_a_killed_caller_left(
    sandbox: DockerSandbox, caller: tuple[subprocess.Popen[str], str]
) -> None:
    process, owner = caller
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10.0
    while _containers_of(owner, "running") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _containers_of(owner, "running") == []
    assert len(_containers_of(owner)) == 2
    assert sandbox.probe().works
    assert _containers_of(owner) == []
    assert not Path(owner).exists()


def test_the_next_start_leaves_a_living_callers_containers_alone(
    sandbox: DockerSandbox, caller: tuple[subprocess.Popen[str], str]
) -> None:
    _, owner = caller
    assert sandbox.probe().works
    assert len(_containers_of(owner, "running")) == 2


def test_a_living_owner_keeps_a_container_past_its_deadline(tmp_path: Path) -> None:
    sandbox = DockerSandbox()
    assert sandbox.probe().works
    assert sandbox._site is not None
    labels = labels_of(sandbox._site.owner, -1000.0)
    assert not is_abandoned(labels, time.time())
    sandbox.close()
    assert is_abandoned(labels, time.time())


def test_an_owner_that_cannot_be_looked_at_has_until_the_deadline(tmp_path: Path) -> None:
    labels = labels_of(tmp_path / "of another machine", 100.0)
    assert not is_abandoned(labels, time.time())
    assert is_abandoned(labels, time.time() + 101.0)
    assert not is_abandoned({OWNER: str(tmp_path / "x"), "wmrl-gym.deadline": "soon"}, time.time())


def test_a_container_without_a_known_owner_is_swept_after_its_deadline(
    sandbox: DockerSandbox, tmp_path: Path
) -> None:
    with engine() as client:
        late, early = (
            client.containers.create(
                built_image(), ["/bin/true"], labels=labels_of(tmp_path / "gone", seconds)
            )
            for seconds in (-10.0, 600.0)
        )
        assert sandbox.probe().works
        left = {c["Id"] for c in labelled()}
        assert late.id not in left
        assert early.id in left
        early.remove()


def test_close_ends_a_running_job() -> None:
    sandbox = DockerSandbox()
    results: list[JobResult] = []
    assert sandbox.probe().works
    assert sandbox._site is not None
    owner = sandbox._site.owner
    thread = threading.Thread(
        target=lambda: results.append(sandbox.run(job("import time; time.sleep(60)")))
    )
    thread.start()
    wait_for_container(str(owner))
    sandbox.close()
    sandbox.close()
    assert _containers_of(str(owner)) == []
    assert not owner.exists()
    thread.join(30)
    assert results[0].status is JobStatus.SANDBOX_ERROR
    assert sandbox.run(job("print(3)")).stdout == "3\n"
    sandbox.close()


def test_a_fork_of_the_caller_is_an_owner_of_its_own(sandbox: DockerSandbox) -> None:
    assert sandbox.run(job("pass")).status is JobStatus.OK
    assert sandbox._site is not None
    mine = sandbox._site.owner
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            result = sandbox.run(job("print('child')"))
            is_other = sandbox._site is not None and sandbox._site.owner != mine
            sandbox.close()
            code = 0 if is_other and result.stdout == "child\n" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert mine.exists()
    assert sandbox.run(job("print('parent')")).stdout == "parent\n"


@pytest.mark.slow
def test_many_jobs_at_once(sandbox: DockerSandbox) -> None:
    results: list[str] = []

    def run(number: int) -> None:
        results.append(sandbox.run(job(f"print({number} * {number})")).stdout)

    assert sandbox.probe().works
    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(f"{n * n}\n" for n in range(12))
