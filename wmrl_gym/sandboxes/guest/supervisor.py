"""The watcher of one job, started for it alone: `supervisor <channel> <stdout> <stderr> <tree>`.

Under bubblewrap it is pid 1 of the job's namespace (tree `namespace`); without namespaces
it is a child subreaper, to which every orphan of the job comes back (tree `descendants`).
"""

from __future__ import annotations

import os
import shutil
import socket

from . import child, syscalls, tree, watch, wire


def main(arguments: list[str]) -> None:
    """Serve the one request that comes over the channel."""
    channel = socket.socket(fileno=int(arguments[0]))
    pipes = int(arguments[1]), int(arguments[2])
    for descriptor in (channel.fileno(), *pipes):
        os.set_inheritable(descriptor, False)
    request, files = wire.receive(channel)
    try:
        watch.run_job(channel, request, files, pipes, _tree(arguments[3], request))
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        channel.sendall(wire.encode({"kind": "error", "message": message}))
    finally:
        if request["scratch"] is not None:
            shutil.rmtree(request["scratch"], ignore_errors=True)


def _tree(kind: str, request: wire.Header) -> tree.ProcessTree:
    if kind == "namespace":
        return tree.NamespaceTree()
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    user = _job_user() if request["change_user"] else os.getuid()
    _make_scratch(request["scratch"], user)
    request["other_processes"] = _threads_of(user)
    return tree.DescendantTree()


def _make_scratch(scratch: str, user: int) -> None:
    for name in ("working", "tmp"):
        os.mkdir(os.path.join(scratch, name), 0o700)
        if user != os.getuid():
            os.chown(os.path.join(scratch, name), user, user)


def _job_user() -> int:
    is_root = os.getuid() == 0 and syscalls.CAP_SETUID in syscalls.permitted_capabilities()
    return child.NOBODY if is_root else os.getuid()


def _threads_of(user: int) -> int:
    """Threads that `user` has already: `RLIMIT_NPROC` counts them with the job's."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it ended meanwhile
    return total
