"""The watcher of one job as pid 1 of a container: `container <socket>`.

The container has no network and no descriptor of ours; what connects it with its caller
comes through a socket in a directory of the host that is mounted for this one purpose. The
caller closes and removes the socket before it sends the job.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from types import FrameType

from . import tree, watch, wire

_START_S = 180.0
"""Time to get the job, before the job's own time is known."""


def main(arguments: list[str]) -> None:
    """Fetch the descriptors, serve the one request that comes over the channel, and end."""
    _end_after(_START_S)
    channel, pipes, caller = _fetch(arguments[0])
    request, files = wire.receive(channel)
    _end_after(request["deadline_s"])
    try:
        for path in request["directories"]:
            os.makedirs(path, exist_ok=True)
        watch.run_job(channel, request, files, pipes, tree.NamespaceTree(), caller)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        channel.sendall(wire.encode({"kind": "error", "message": message}))


def _fetch(path: str) -> tuple[socket.socket, tuple[int, int], int]:
    """The channel, the job's stdout and stderr, and a descriptor of the caller's life."""
    with socket.socket(socket.AF_UNIX) as rendezvous:
        rendezvous.connect(path)
        _, descriptors, _, _ = socket.recv_fds(rendezvous, 1, 4)
    channel, out, err, caller = descriptors
    return socket.socket(fileno=channel), (out, err), caller


def _end_after(seconds: float) -> None:
    """End this process, and with it the container, when the time is up: the dead man's switch.

    It holds even if the caller is gone and its death did not show. The job can send pid 1
    the same signal, for which there is a handler: that must not mean anything.
    """
    deadline = time.monotonic() + seconds

    def check(number: int, frame: FrameType | None) -> None:
        if time.monotonic() >= deadline:
            os._exit(124)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
