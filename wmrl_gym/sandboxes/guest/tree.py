"""All processes of a job: which there are, and how to end every one of them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Protocol


class ProcessTree(Protocol):
    """The processes that a job started, however they try to get away."""

    def pids(self) -> list[int]:
        """Processes alive now, zombies included."""
        ...

    def kill(self) -> None:
        """End all of them and reap them; none is left afterwards."""
        ...


class NamespaceTree:
    """As pid 1 of a pid namespace: everything else in there is the job's."""

    def pids(self) -> list[int]:
        """Every process but pid 1."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]

    def kill(self) -> None:
        """Kill everything but pid 1."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        _reap_all()


class DescendantTree:
    """As a child subreaper: orphans come back to this process, so that none escapes."""

    def pids(self) -> list[int]:
        """Every descendant of this process."""
        found, queue = [], [os.getpid()]
        while queue:
            offspring = _children(queue.pop())
            found += offspring
            queue += offspring
        return found

    def kill(self) -> None:
        """Stop, kill and reap in rounds: a process forked during one falls in the next."""
        while _has_children():
            pids = self.pids()
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    _signal(pid, number)
            reap()
            time.sleep(0.001)


def reap() -> dict[int, int]:
    """Collect the children that have ended: wait status by process id."""
    ended: dict[int, int] = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return ended
            ended[pid] = status
    except ChildProcessError:
        return ended


def _reap_all() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children(pid: int) -> list[int]:
    """Children of all threads of `pid`; none if it has ended."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return found
    return found
