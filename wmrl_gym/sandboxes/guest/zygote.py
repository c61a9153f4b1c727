"""The fork server: `zygote <control> <prefix> <module> ...`.

It imports the slow libraries once. For each job it forks three times:

    zygote ── outer ── init ── job
              │        │       └ the script, in the interpreter that has everything imported
              │        └ pid 1 in fresh namespaces: builds the file system, watches the job
              └ unshares; its death is the death of init (PDEATHSIG), and with it of the job

It holds nothing but libraries: what a fork inherits, a job can read.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import traceback
import warnings
from collections.abc import Sequence

from . import mounts, syscalls, tree, watch, wire
from .child import NOBODY

_NAMESPACES = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
)
_WATCHER = (
    syscalls.CAP_KILL,
    syscalls.CAP_SYS_PTRACE,
    syscalls.CAP_DAC_READ_SEARCH,
    syscalls.CAP_SETUID,
    syscalls.CAP_SETGID,
    syscalls.CAP_SETFCAP,
)
"""What init keeps: to end, watch and read what a job of another user left, and, as root, to
make the job that user (SETFCAP is for mapping root into a user namespace)."""
_POLL_S = 0.5


def main(arguments: list[str]) -> None:
    """Import the modules, say so, and serve until the caller is gone."""
    control = socket.socket(fileno=int(arguments[0]))
    parent = os.getppid()
    try:
        _preload(arguments[2:])
    except Exception:
        control.send(json.dumps({"error": traceback.format_exc()}).encode())
        return
    # Orphans of killed jobs come to us, so that we know when the last one is gone.
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    control.send(json.dumps({"error": ""}).encode())
    _Server(control, parent, arguments[1]).serve()


def _preload(modules: Sequence[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            importlib.import_module(name)
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("an imported library started threads, which a fork would lose")
    gc.collect()
    gc.freeze()  # a collection in a job would otherwise copy every page that it shares with us


class _Server:
    def __init__(self, control: socket.socket, parent: int, prefix: str) -> None:
        self._control = control
        self._parent = parent
        self._prefix = prefix
        self._jobs: dict[int, int] = {}

    def serve(self) -> None:
        """Fork jobs until the caller closes the control socket or dies."""
        while True:
            ready = select.select([self._control], [], [], _POLL_S)[0]
            self._reap()
            # A fork of the caller may hold a copy of its socket: its death closes nothing then.
            if os.getppid() != self._parent or (ready and not self._handle()):
                break
        for pid in self._jobs.values():
            os.kill(pid, signal.SIGKILL)
        while _wait_for_child():
            pass
        shutil.rmtree(self._prefix, ignore_errors=True)  # the caller may not be there to do it

    def _handle(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, 4096, 3)
        if not data:
            return False
        message = json.loads(data)
        if message["order"] == "run":
            self._jobs[message["job"]] = self._fork(descriptors)
        elif message["job"] in self._jobs:
            os.kill(self._jobs[message["job"]], signal.SIGKILL)
        return True

    def _fork(self, descriptors: list[int]) -> int:
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._control.close()
            try:
                _be_outer(zygote, os.path.join(self._prefix, "root"), descriptors)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        return pid

    def _reap(self) -> None:
        ended = tree.reap()
        self._jobs = {job: pid for job, pid in self._jobs.items() if pid not in ended}


def _wait_for_child() -> bool:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        return False
    return True


def _be_outer(zygote: int, root: str, descriptors: list[int]) -> None:
    channel = socket.socket(fileno=descriptors[0])
    pipes = descriptors[1], descriptors[2]
    try:
        _unshare()
        syscalls.die_with_parent(zygote)
        init = os.fork()
    except OSError as error:
        channel.sendall(wire.encode({"kind": "error", "message": str(error)}))
        return
    if init == 0:
        try:
            _be_init(root, channel, pipes)
        finally:
            os._exit(0)
    channel.close()
    for descriptor in pipes:
        os.close(descriptor)
    os.waitpid(init, 0)


def _unshare() -> None:
    user, group = os.getuid(), os.getgid()
    if user == 0:
        syscalls.unshare(_NAMESPACES)
    else:
        syscalls.unshare(_NAMESPACES | syscalls.CLONE_NEWUSER)
        _write_own("setgroups", "deny")
        _write_own("gid_map", f"{NOBODY} {group} 1")
        _write_own("uid_map", f"{NOBODY} {user} 1")
    socket.sethostname("sandbox")


def _write_own(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def _be_init(root: str, channel: socket.socket, pipes: tuple[int, int]) -> None:
    syscalls.die_with_parent(None)
    os.setsid()
    try:
        request, files = wire.receive(channel)
        mounts.build(root, request["mounts"])
        syscalls.keep_capabilities(_WATCHER)
        watch.run_job(channel, request, files, pipes, tree.NamespaceTree())
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        channel.sendall(wire.encode({"kind": "error", "message": message}))
