"""Runs one job from its start to its end: the work of the process above it.

The order at the end matters: first the whole tree is killed, then outputs are read, so that
nothing can change them any more; then the result is told, so that whoever hears it can trust
that nothing of the job is left.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

from . import child, collect, syscalls, tree, wire
from .memory import MemoryWatch, oom_kills

_POLL_S = 0.02
_SCRATCH_POLL_S = 0.5
_MAX_FILES = 200_000
"""Files a job may have."""
_MIB = 1 << 20


class Ending(NamedTuple):
    """Why a job ended (`exited`, or the limit that it broke) and the wait status, if it had one."""

    cause: str
    status: int | None


class _Watches(NamedTuple):
    processes: tree.ProcessTree
    memory: MemoryWatch
    scratch: _Scratch


def run_job(
    channel: socket.socket,
    request: wire.Header,
    files: bytes,
    pipes: tuple[int, int],
    processes: tree.ProcessTree,
    caller: int | None = None,
) -> None:
    """Run the job of `request` and tell `channel` what came of it.

    Args:
        channel: To the caller; its end means that nobody wants the result any more.
        request: The job; see `wmrl_gym.sandboxes.jobs.request_of`.
        files: Contents of the job's files, one after the other.
        pipes: File descriptors of the job's stdout and stderr.
        processes: How to see and end what the job starts.
        caller: File descriptor that becomes readable when the caller dies, if there is one: a
            fork of the caller may hold the other end of the channel open.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # or the job could interrupt us with it
    # Opened before the job can put another directory in its place.
    workdir = os.open(request["workdir"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # else the job could open our /proc files
    memory = MemoryWatch(request["limits"]["memory_mb"] * _MIB)
    try:
        pid = _start(channel, request, files, pipes)
        for descriptor in pipes:
            os.close(descriptor)
        channel.sendall(wire.encode({"kind": "started"}))
        began = time.monotonic()
        scratch = _Scratch(workdir, request)
        lifelines = [channel.fileno()] if caller is None else [channel.fileno(), caller]
        ending = _watch(lifelines, request, pid, _Watches(processes, memory, scratch))
        wall = time.monotonic() - began
    finally:
        processes.kill()
    _send_outputs(channel, request, workdir)
    _send_report(channel, request, ending, wall, memory.peak)


def _send_report(
    channel: socket.socket, request: wire.Header, ending: Ending, wall: float, peak: int
) -> None:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {
        "kind": "exit",
        "cause": ending.cause,
        "code": None if ending.status is None else os.waitstatus_to_exitcode(ending.status),
        "wall_s": wall,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": max(peak, usage.ru_maxrss * 1024) / _MIB,
        "oom_kills": oom_kills() if request["own_cgroup"] else 0,
    }
    channel.sendall(wire.encode(report))


def _start(
    channel: socket.socket, request: wire.Header, files: bytes, pipes: tuple[int, int]
) -> int:
    """Fork the job; return once its code is about to run.

    Raises:
        OSError: The walls around the job could not be put up.
    """
    failure = os.pipe()
    userns = child.UserNamespace() if request["own_userns"] and os.getuid() == 0 else None
    pid = os.fork()
    if pid == 0:
        channel.close()
        _be_job(request, files, pipes, failure[1], userns)
    os.close(failure[1])
    if userns is not None:
        userns.map(pid)
    with os.fdopen(failure[0], "rb") as file:
        message = file.read()
    if message:
        raise OSError(message.decode())
    return pid


def _be_job(
    request: wire.Header,
    files: bytes,
    pipes: tuple[int, int],
    failure: int,
    userns: child.UserNamespace | None,
) -> None:
    """In the forked process: never returns."""
    try:
        child.become_job(request, pipes, userns)
        child.write_files(request, files)
        syscalls.close_all_but([0, 1, 2, failure])
        if request["command"] is not None:
            os.execvpe(request["command"][0], request["command"], request["env"])
        os.close(failure)
    except BaseException as error:
        os.write(failure, f"{type(error).__name__}: {error}".encode())
        os._exit(70)
    os._exit(child.run_script(request))


def _watch(
    lifelines: list[int],
    request: wire.Header,
    pid: int,
    watches: _Watches,
) -> Ending:
    """Wait until the process `pid` ends or a limit is broken."""
    limits = request["limits"]
    deadline = time.monotonic() + limits["wall_s"]
    most = child.process_limit(limits)
    parent = os.getppid()
    pidfd = os.pidfd_open(pid)
    while True:
        ready = select.select([*lifelines, pidfd], [], [], _POLL_S)[0]
        status = tree.reap().get(pid)
        if status is not None:
            return Ending(_cause_of(status, limits["cpu_s"]), status)
        pids = watches.processes.pids()
        if time.monotonic() > deadline:
            return Ending("wall", None)
        if watches.memory.exceeded(pids):
            return Ending("memory", None)
        if len(pids) > most:
            return Ending("processes", None)
        if watches.scratch.exceeded():
            return Ending("scratch", None)
        if not {*lifelines}.isdisjoint(ready) or os.getppid() != parent:
            return Ending("abandoned", None)


def _cause_of(status: int, cpu_s: float | None) -> str:
    """Tell the CPU limit's signals (a warning, then the end) from the job's own."""
    if cpu_s is None or not os.WIFSIGNALED(status):
        return "exited"
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    is_spent = usage.ru_utime + usage.ru_stime >= cpu_s
    signals = {signal.SIGXCPU} | ({signal.SIGKILL} if is_spent else set())
    return "cpu" if os.WTERMSIG(status) in signals else "exited"


class _Scratch:
    """Watches what a job writes, as far as no mount bounds it.

    A tmpfs has a size, but empty files cost none of it and yet take memory of the kernel; and
    where there are several, their sizes do not bound the sum. On an ordinary file system
    (`scratch` of the request given) the bytes have to be counted one file at a time.
    """

    def __init__(self, workdir: int, request: wire.Header) -> None:
        self._places = [workdir, *request["writable"]]
        self._directory: str | None = request["scratch"]
        self._limit = request["limits"]["scratch_mb"] * _MIB
        self._next = 0.0

    def exceeded(self) -> bool:
        if self._directory is None:
            usages = [os.statvfs(place) for place in self._places]
            size = sum((u.f_blocks - u.f_bfree) * u.f_frsize for u in usages)
            return size > self._limit or sum(u.f_files - u.f_ffree for u in usages) > _MAX_FILES
        if time.monotonic() < self._next:
            return False
        exceeded = _is_larger(self._directory, self._limit)
        self._next = time.monotonic() + _SCRATCH_POLL_S
        return exceeded


def _is_larger(directory: str, limit: int) -> bool:
    size, files, queue = 0, 0, [directory]
    while queue and size <= limit and files <= _MAX_FILES:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError:
            continue  # the job removed it meanwhile
    return size > limit or files > _MAX_FILES


def _send_outputs(channel: socket.socket, request: wire.Header, workdir: int) -> None:
    limit = request["limits"]["file_mb"] * _MIB
    names: Sequence[str] = request["outputs"]
    for name in names:
        try:
            descriptor = collect.open_output(workdir, name, limit)
        except (collect.SkippedError, OSError) as error:
            channel.sendall(wire.encode({"kind": "skipped", "name": name, "reason": str(error)}))
            continue
        if descriptor is not None:
            _send_file(channel, name, descriptor)


def _send_file(channel: socket.socket, name: str, descriptor: int) -> None:
    # Never whole in our memory, which may be bounded by the job's limit.
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        channel.sendall(wire.encode_head({"kind": "output", "name": name}, size))
        channel.sendfile(file)
