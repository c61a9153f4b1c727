"""A real server in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from openenv.core import GenericEnvClient

PATIENCE_S = 120.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Poll until something has happened."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {PATIENCE_S} s"
        time.sleep(0.02)


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    url: str
    process: subprocess.Popen[str]

    def client(self) -> Any:
        """OpenEnv's own client, patient."""
        return GenericEnvClient(self.url, message_timeout_s=PATIENCE_S).sync()

    @property
    def ws(self) -> str:
        """Address of the WebSocket sessions."""
        return self.url.replace("http", "ws") + "/ws"

    def interrupt(self, number: int = signal.SIGINT) -> str:
        """Ctrl-C, or another signal; what the server had to say."""
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        return said


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[Server]:
    """Run `wmrl-gym serve` with these arguments on a free port until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wmrl_gym.cli", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http://" in line, line + process.stdout.read()
        server = Server(line.partition(" at ")[2].split()[0], process)
        wait_for(lambda: _is_healthy(server.url), "the health check")
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _is_healthy(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/health").json() == {"status": "healthy"})
    except httpx.TransportError:
        return False


def descendants(pid: int) -> set[tuple[int, str]]:
    """Processes below a process, each with the time of its start, so that no id is mistaken."""
    table = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            table[int(entry.name)] = (int(fields[1]), fields[19])
    below = {pid}
    while more := {p for p, (parent, _) in table.items() if parent in below} - below:
        below |= more
    return {(p, table[p][1]) for p in below - {pid} if p in table}


def alive(processes: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those that still run."""
    return {
        (p, start) for p, start in processes if (f := _stat(p)) and f[19] == start and f[0] != "Z"
    }


def _stat(pid: int) -> list[str]:
    """Fields of `/proc/<pid>/stat` from the state on; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
