"""Limits that every back end enforces, against programs that fight them."""

from __future__ import annotations

import uuid

import pytest

from tests.sandboxes.helpers import job, wait_until_gone
from wmrl_gym.sandboxes import JobStatus, Sandbox

_DAEMON = """
import os, sys, time

def daemon(seconds=60):
    "A process in a session of its own whose parent is gone."
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (1, 2):
                os.dup2(os.open("/dev/null", os.O_RDWR), number)
            end = time.time() + seconds
            while time.time() < end:
                with open("out.txt", "w") as file:
                    file.write("late")
            os._exit(0)
        os._exit(0)
    os.wait()

"""


@pytest.mark.slow
def test_a_flood_of_output_is_bounded(sandbox: Sandbox) -> None:
    script = """
        import sys
        sys.stdout.write("head ")
        for _ in range(200):
            sys.stdout.write("x" * (1 << 20))
        sys.stdout.write(" tail")
    """
    result = sandbox.run(job(script, output_kb=64))
    assert result.status is JobStatus.OK
    assert result.truncated
    assert 64 * 1024 <= len(result.stdout) < 65 * 1024
    assert result.stdout.startswith("head xxx")
    assert result.stdout.endswith("xxx tail")


def test_the_wall_limit_stops_what_ignores_signals(sandbox: Sandbox) -> None:
    script = """
        import signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("waiting")
        time.sleep(60)
    """
    result = sandbox.run(job(script, wall_s=1.5))
    assert (result.status, result.stdout) == (JobStatus.TIMEOUT, "waiting\n")
    assert 1.5 <= result.wall_s < 20.0


def test_the_cpu_limit_stops_a_loop(sandbox: Sandbox) -> None:
    result = sandbox.run(job("while True: pass", cpu_s=1.0))
    assert result.status is JobStatus.TIMEOUT
    assert result.cpu_s is not None
    assert 0.9 <= result.cpu_s < 10.0


@pytest.mark.parametrize("end", ["", "time.sleep(60)"], ids=["main ends first", "timeout"])
def test_a_daemon_does_not_outlive_its_job(sandbox: Sandbox, end: str) -> None:
    mark = f"DAEMON={uuid.uuid4()}"
    name, value = mark.split("=")
    result = sandbox.run(job(_DAEMON + "daemon()\n" + end, wall_s=3.0, env={name: value}))
    assert result.status is (JobStatus.TIMEOUT if end else JobStatus.OK)
    assert wait_until_gone(mark, timeout_s=0.0) == []


def test_a_daemon_cannot_change_collected_outputs(sandbox: Sandbox) -> None:
    script = _DAEMON + "daemon()\ntime.sleep(0.2)\nopen('final.txt', 'w').write('early')\n"
    result = sandbox.run(job(script, outputs=["final.txt", "out.txt"]))
    assert result.status is JobStatus.OK
    assert result.outputs["final.txt"] == b"early"
    assert result.outputs["out.txt"] in (b"late", b"")


@pytest.mark.slow
def test_a_fork_bomb_is_bounded(sandbox: Sandbox) -> None:
    script = """
        import os, time
        started = 0
        try:
            for _ in range(2000):
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
                started += 1
        except OSError:
            pass
        print(started)
    """
    result = sandbox.run(job(script, processes=80, wall_s=30.0))
    assert result.status in (JobStatus.OK, JobStatus.ERROR)
    started = int(result.stdout) if result.stdout else 0
    assert started <= 100


_HOG = """
import time
block = []
for _ in range({megabytes}):
    block.append(bytearray(b"x" * (1 << 20)))
    time.sleep(0.0005)
time.sleep(30)
"""


def test_a_memory_hog_is_stopped(sandbox: Sandbox) -> None:
    result = sandbox.run(job(_HOG.format(megabytes=400), memory_mb=256))
    assert result.status is JobStatus.OUT_OF_MEMORY
    assert result.peak_mb is not None
    assert result.peak_mb > 200


def test_memory_is_counted_over_all_processes(sandbox: Sandbox) -> None:
    script = "import os\n[os.fork() for _ in range(2)]\n" + _HOG.format(megabytes=150)
    result = sandbox.run(job(script, memory_mb=400))
    assert result.status is JobStatus.OUT_OF_MEMORY


def test_forks_that_share_their_memory_are_not_a_hog(sandbox: Sandbox) -> None:
    script = """
        import os, time
        block = bytearray(b"x" * (100 << 20))
        children = [os.fork() for _ in range(1)]
        for _ in range(3):
            if children[-1]:
                children.append(os.fork())
        time.sleep(1)
        if children[-1]:
            for _ in children:
                os.wait()
            print("done")
    """
    result = sandbox.run(job(script, memory_mb=300))
    assert (result.status, result.stdout) == (JobStatus.OK, "done\n")


def test_an_allocation_that_fails_is_out_of_memory(sandbox: Sandbox) -> None:
    result = sandbox.run(job("import numpy; numpy.ones(1 << 31)", memory_mb=512))
    assert result.status is JobStatus.OUT_OF_MEMORY
    assert "MemoryError" in result.stderr
    result = sandbox.run(job("bytearray(1 << 34)", memory_mb=512))
    assert result.status is JobStatus.OUT_OF_MEMORY


def test_memory_without_a_file_is_refused(sandbox: Sandbox) -> None:
    assert sandbox.run(job("import os; os.memfd_create('x')")).status is JobStatus.ERROR


def test_scratch_is_bounded(sandbox: Sandbox) -> None:
    script = """
        import time
        for number in range(60):
            open(f"{number}.bin", "wb").write(b"x" * (1 << 20))
        print("all written")
        time.sleep(2)
    """
    result = sandbox.run(job(script, scratch_mb=20))
    assert result.status is JobStatus.ERROR
    assert "No space left" in result.stderr or "limit of 20 MiB" in result.stderr


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        ("os.symlink('../input/a', 'out')", "symbolic link"),
        ("os.symlink('/etc/passwd', 'out')", "symbolic link"),
        ("os.mkfifo('out')", "not a regular file"),
        ("os.mkdir('out')", "not a regular file"),
        ("open('out', 'wb').write(b'x' * (1 << 20))", "limit of 1048576 bytes"),
        ("open('out', 'w').truncate(1 << 19)", "sparse"),
    ],
)
def test_a_suspicious_output_is_skipped(sandbox: Sandbox, make: str, reason: str) -> None:
    result = sandbox.run(job(f"import os; {make}", outputs=["out"], file_mb=1))
    assert (result.status, result.stderr, result.outputs) == (JobStatus.OK, "", {})
    assert reason in result.skipped["out"]


def test_a_file_larger_than_allowed_cannot_be_written(sandbox: Sandbox) -> None:
    script = "f = open('out', 'wb'); f.truncate(1 << 36)"
    result = sandbox.run(job(script, outputs=["out"], file_mb=1))
    assert result.status is JobStatus.ERROR
    assert "File too large" in result.stderr


def test_an_empty_output_is_collected(sandbox: Sandbox) -> None:
    assert sandbox.run(job("open('out', 'w')", outputs=["out"])).outputs == {"out": b""}
