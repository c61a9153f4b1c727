"""What happens in the job's own process before, while and after its code runs."""

from __future__ import annotations

import atexit
import builtins
import math
import os
import resource
import signal
import sys
import threading
import types
from typing import Any

from . import landlock, seccomp, syscalls
from .wire import Header

NOBODY = 65534
"""User and group id of jobs, where it is ours to choose."""
_MIB = 1 << 20
_LIBRARY_DATA = 256 * _MIB
"""Writable memory that libraries map but hardly touch, on top of the memory limit."""
OPEN_FILES = 1024
"""File descriptors that a process may have."""


def become_job(request: Header, pipes: tuple[int, int], userns: UserNamespace | None) -> None:
    """Give this process what the job may have, and take the rest from it, for good.

    Args:
        request: The job; see `wmrl_gym.sandboxes.jobs.request_of`.
        pipes: File descriptors that become stdout and stderr.
        userns: The hand-over of user ids, if the watcher is root.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _redirect(pipes)
    os.umask(0o022)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # our own /proc files, which the watcher gave up
    if userns is not None:
        userns.enter()
    _set_limits(request)
    _prefer_for_oom_kill()
    is_walled = request["landlock"] is not None
    kept: list[int] = []
    if request["change_user"]:
        kept = _change_user(keep_reading=is_walled or (userns is not None and userns.entered))
    syscalls.die_with_parent(None)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # a change of user clears it
    syscalls.keep_capabilities(kept)
    os.chdir(request["workdir"])
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if is_walled:
        own = [(f"/proc/{os.getpid()}", landlock.READ)]
        landlock.restrict([*((p, r) for p, r in request["landlock"]), *own])
    if request["seccomp"]:
        seccomp.install(request["sockets"], ignore_metadata=is_walled)


class UserNamespace:
    """Gives the job a user namespace of its own, so that its processes are counted alone.

    `RLIMIT_NPROC` counts the processes of a user within a user namespace, and root is exempt:
    a root watcher runs the job as nobody. That user's ids are mapped in from outside, by the
    watcher, which still has the right.
    """

    def __init__(self) -> None:
        self._ready = os.pipe()
        self._mapped = os.pipe()
        self.entered = False
        """In the job: whether it has a namespace (the kernel may allow no more of them)."""

    def enter(self) -> None:
        """In the job: unshare, and wait until the watcher has mapped the ids."""
        try:
            syscalls.unshare(syscalls.CLONE_NEWUSER)
        except OSError:
            os.write(self._ready[1], b"n")
            return
        os.write(self._ready[1], b"y")
        if os.read(self._mapped[0], 1) != b"y":
            raise OSError("the user ids of the job could not be mapped")
        self.entered = True

    def map(self, pid: int) -> None:
        """In the watcher: map root and nobody for the job with process id `pid`."""
        os.close(self._ready[1])
        if os.read(self._ready[0], 1) == b"y":
            for name in ("gid_map", "uid_map"):
                with open(f"/proc/{pid}/{name}", "w") as file:
                    file.write(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
            os.write(self._mapped[1], b"y")
        for descriptor in (self._ready[0], *self._mapped):
            os.close(descriptor)


def _redirect(pipes: tuple[int, int]) -> None:
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (pipes[0], 1), (pipes[1], 2)):
        os.dup2(source, target)


def _set_limits(request: Header) -> None:
    limits = request["limits"]
    # RLIMIT_DATA, not RLIMIT_AS: libraries reserve far more addresses than they use.
    _limit(resource.RLIMIT_DATA, limits["memory_mb"] * _MIB + _LIBRARY_DATA)
    _limit(resource.RLIMIT_FSIZE, limits["file_mb"] * _MIB)
    _limit(resource.RLIMIT_NPROC, process_limit(limits) + request["other_processes"])
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    if limits["cpu_s"] is not None:
        seconds = max(1, math.ceil(limits["cpu_s"]))
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)


def process_limit(limits: dict[str, Any]) -> int:
    """Processes and threads that a job may have: numerical libraries fail with too few."""
    return max(int(limits["processes"]), 64 + int(limits["threads"]))


def _limit(which: int, soft: int, hard: int | None = None) -> None:
    ceiling = resource.getrlimit(which)[1]
    wanted = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, wanted = min(soft, ceiling), min(wanted, ceiling)
    resource.setrlimit(which, (soft, wanted))


def _prefer_for_oom_kill() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except PermissionError:
        return  # a /proc that is read-only here


def _change_user(*, keep_reading: bool) -> list[int]:
    """Turn from root into nobody; give back the capabilities to keep.

    Root's interpreter and data often lie in directories closed to others. Nobody may read
    them (within the walls, and nothing is hidden there) by one capability. It is kept only where
    something else bounds it: a user namespace of its own, or Landlock with seccomp.
    """
    permitted = syscalls.permitted_capabilities()
    if os.getuid() != 0 or syscalls.CAP_SETUID not in permitted:
        return []
    reading = [syscalls.CAP_DAC_READ_SEARCH, syscalls.CAP_DAC_OVERRIDE]
    kept = [bit for bit in reading if bit in permitted][:1] if keep_reading else []
    syscalls.prctl(syscalls.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return kept


def write_files(request: Header, files: bytes) -> None:
    """Put the job's files into the working directory, as files of its own."""
    start = 0
    for name, size in request["files"]:
        with open(name, "xb") as file:
            file.write(files[start : start + size])
        start += size


def run_script(request: Header) -> int:
    """Run the entry file as `__main__` in this process, as `python <entry>` would.

    Returns:
        The exit code.
    """
    _look_fresh(request)
    code = _execute(os.path.join(request["workdir"], request["entry"]))
    return _finish(code)


def _look_fresh(request: Header) -> None:
    """Make the warm interpreter look like one that has just started."""
    os.environ.update(request["env"])  # libraries left settings of their own in there
    sys.argv[:] = [request["entry"]]
    sys.path.insert(0, request["workdir"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # always text here
    for name in [n for n in sys.modules if n.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()  # the standard library reseeds its own generator after a fork
    if request["limits"]["threads"] > 1 and "threadpoolctl" in sys.modules:
        sys.modules["threadpoolctl"].threadpool_limits(request["limits"]["threads"])


def _execute(path: str) -> int:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main
    try:
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as error:
        return _exit_code(error.code)
    except BaseException as error:
        _show(error, path)
        return 1
    return 0


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _show(error: BaseException, path: str) -> None:
    """Print the traceback from the script's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _finish(code: int) -> int:
    """What the interpreter does at its end, short of tearing the heap down."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for non-daemon threads
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return code or 1
    return code
