"""The life of the fork server: restarts, forks of the caller, the caller's death."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.sandboxes.helpers import job, processes_with, wait_until_gone
from wmrl_gym.sandboxes import JobResult, JobStatus
from wmrl_gym.sandboxes.forkserver import ForkServerSandbox


@pytest.fixture
def server() -> Iterator[ForkServerSandbox]:
    sandbox = ForkServerSandbox()
    yield sandbox
    sandbox.close()


def _zygote(server: ForkServerSandbox) -> int:
    """Process id of the helper: the one that was told the prefix and is our child."""
    children = processes_with(str(server.prefix.path))
    (pid,) = [p for p in children if _parent(p) == os.getpid()]
    return pid


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def test_libraries_are_imported_in_advance(server: ForkServerSandbox) -> None:
    script = "import sys; print('sklearn.ensemble' in sys.modules, 'wmrl_gym' in sys.modules)"
    assert server.run(job(script)).stdout == "True False\n"


def test_nothing_of_the_server_shows_in_a_job(server: ForkServerSandbox) -> None:
    script = """
        import sys, threading
        print([n for n in sys.modules if "guest" in n], threading.active_count())
        print(sys.flags.isolated, sys.flags.no_site, sys.path[0])
    """
    assert server.run(job(script)).stdout == "[] 1\n0 0 /kaggle/working\n"


def test_a_killed_server_is_started_again(server: ForkServerSandbox) -> None:
    assert server.run(job("print(1)")).stdout == "1\n"
    first = _zygote(server)
    os.kill(first, signal.SIGKILL)
    assert server.run(job("print(2)")).stdout == "2\n"
    assert _zygote(server) != first


def test_a_server_that_dies_under_a_job_is_our_failure(server: ForkServerSandbox) -> None:
    mark = f"MARK={uuid.uuid4()}"
    results: list[JobResult] = []
    server.run(job("pass"))

    def run() -> None:
        results.append(server.run(job("import time; time.sleep(60)")))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    os.kill(_zygote(server), signal.SIGKILL)
    thread.join(30)
    assert results[0].status is JobStatus.SANDBOX_ERROR
    assert results[0].error
    assert wait_until_gone(mark) == []


def test_close_ends_everything_and_can_be_repeated() -> None:
    server = ForkServerSandbox()
    server.run(job("pass"))
    prefix = server.prefix.path
    server.close()
    server.close()
    assert wait_until_gone(str(prefix)) == []
    assert not prefix.exists()
    assert server.run(job("print(3)")).stdout == "3\n"
    server.close()


def test_close_ends_a_running_job(server: ForkServerSandbox) -> None:
    results: list[JobResult] = []
    server.run(job("pass"))
    prefix = str(server.prefix.path)
    thread = threading.Thread(
        target=lambda: results.append(server.run(job("import time; time.sleep(60)")))
    )
    thread.start()
    time.sleep(0.5)
    server.close()
    thread.join(30)
    assert results[0].status is JobStatus.SANDBOX_ERROR
    assert wait_until_gone(prefix) == []


def test_a_fork_of_the_caller_has_a_server_of_its_own(server: ForkServerSandbox) -> None:
    server.run(job("pass"))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            result = server.run(job("print('child')"))
            own = _zygote(server) != 0
            server.close()
            code = 0 if own and result.stdout == "child\n" else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert server.run(job("print('parent')")).stdout == "parent\n"


@pytest.mark.slow
def test_many_jobs_at_once(server: ForkServerSandbox) -> None:
    results: list[str] = []

    def run(number: int) -> None:
        results.append(server.run(job(f"import numpy; print(numpy.arange({number}).sum())")).stdout)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(f"{n * (n - 1) // 2}\n" for n in range(24))
