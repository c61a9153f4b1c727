"""A caller that is killed during a batch leaves nothing that runs, and at last nothing at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sandboxes.backends import BACKENDS
from tests.sandboxes.helpers import processes_with, wait_until_gone
from wmrl_gym.sandboxes import owned
from wmrl_gym.sandboxes.prefix import PREFIX_NAME

_BATCH = """
import os, sys, threading, time
from wmrl_gym.sandboxes import Job, select_sandbox
sandbox = select_sandbox(sys.argv[1])
code = b"import os, time\\nos.fork()\\nos.setsid() if os.fork() == 0 else 0\\ntime.sleep(60)"
for _ in range(3):
    job = Job(files={"main.py": code})
    threading.Thread(target=sandbox.run, args=[job], daemon=True).start()
print(sandbox.prefix.path, flush=True)
sys.stdin.readline()
if os.fork() == 0:  # a sleeping fork, which must not keep jobs alive
    time.sleep(8)
    os._exit(0)
print("forked", flush=True)
threading.Event().wait()
"""
_PROCESSES = 3 * (1 + 4)
"""At least: of each job a watcher and four of its own."""


def _start_batch(backend: str) -> tuple[subprocess.Popen[str], str]:
    """A caller whose jobs all run, and what the command lines of their processes hold."""
    caller = subprocess.Popen(
        [sys.executable, "-c", _BATCH, backend],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert caller.stdin is not None
    assert caller.stdout is not None
    mark = caller.stdout.readline().strip()
    assert mark
    deadline = time.monotonic() + 60.0
    while len(processes_with(mark)) < _PROCESSES and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(processes_with(mark)) >= _PROCESSES
    caller.stdin.write("now\n")
    caller.stdin.close()
    assert caller.stdout.readline() == "forked\n"
    return caller, mark


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
def test_nothing_runs_after_the_caller(backend: str, number: signal.Signals) -> None:
    caller, mark = _start_batch(backend)
    caller.send_signal(number)
    assert wait_until_gone(mark, timeout_s=5.0) == []
    caller.wait(60)
    assert caller.stdout is not None
    caller.stdout.close()
    deadline = time.monotonic() + 10.0
    while Path(mark).exists() and time.monotonic() < deadline:
        owned.sweep(PREFIX_NAME)  # the fork lets go of the lock when it first runs
        time.sleep(0.05)
    assert not Path(mark).exists()
