"""Watches the memory of a process tree, where no cgroup does it."""

from __future__ import annotations

import os
from collections.abc import Sequence

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PATIENCE = 25
"""Polls with unreadable shares in a row before resident sizes count in their place."""


class MemoryWatch:
    """Says when a process tree holds more than `limit` bytes.

    Resident sizes are cheap to read but count shared pages once for each process that maps
    them, so a tree of forks looks too large. Over the limit, the proportional sizes decide.
    They cannot be read while a process ends: that is a reason to look again, not to kill;
    only a process that stays unreadable (it can make itself so) is counted in full.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.peak = 0
        """Largest sum of resident sizes seen, in bytes."""
        self._unreadable = 0

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the processes `pids` together are over the limit now."""
        resident = {pid: _resident(pid) for pid in pids}
        total = sum(resident.values())
        self.peak = max(self.peak, total)
        if total <= self.limit:
            self._unreadable = 0
            return False
        shares = {pid: _proportional(pid) for pid, size in resident.items() if size}
        if None in shares.values():
            self._unreadable += 1
            if self._unreadable < _PATIENCE:
                return False
        return sum(resident[p] if s is None else s for p, s in shares.items()) > self.limit


def oom_kills() -> int:
    """Processes that the kernel has killed in this process's cgroup for want of memory.

    Only where `/sys/fs/cgroup` shows that cgroup, as it does in a container.
    """
    for path in ("memory.events", "memory/memory.oom_control"):  # cgroup version 2, version 1
        try:
            with open(f"/sys/fs/cgroup/{path}") as file:
                fields = dict(line.split() for line in file)
        except OSError:
            continue
        return int(fields.get("oom_kill", 0))
    return 0


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _proportional(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
