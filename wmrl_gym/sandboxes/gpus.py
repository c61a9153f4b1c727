"""Leases of GPUs, by id, between all processes of one machine.

A lease is a lock on a file: a holder that is killed loses it at once. Ids are the driver's
(`GPU-...`) wherever `nvidia-smi` is there to ask, so that a process that calls a GPU `0`
and one that calls it by its id mean the same lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from wmrl_gym.errors import SandboxUnavailableError

_DIRECTORY = "wmrl-gym-gpus"
_TURN = "turn"
_POLL_S = 0.1
_ANSWER_S = 30.0

_held: set[int] = set()


def visible_gpus() -> tuple[str, ...]:
    """Ids of the GPUs that this process may use.

    `CUDA_VISIBLE_DEVICES` limits them as it does for CUDA, numbers being those of
    `nvidia-smi`; without it all are visible, and none where there is no driver.
    """
    installed = _installed_gpus()
    wished = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wished is None:
        return tuple(installed)
    found: list[str] = []
    for name in filter(None, map(str.strip, wished.split(","))):
        gpu = _identify(name, installed)
        if gpu is None:
            break  # as CUDA does: what comes after an id that is not there is not visible
        found.append(gpu)
    return tuple(dict.fromkeys(found))


def _identify(name: str, installed: Sequence[str]) -> str | None:
    if not installed:  # no driver to ask: the caller is believed
        return None if name.startswith("-") else name
    if name.isdecimal():
        return installed[int(name)] if int(name) < len(installed) else None
    if name.startswith("MIG-"):
        return name
    matches = [gpu for gpu in installed if gpu.startswith(name)]
    return matches[0] if len(matches) == 1 else None


def _installed_gpus() -> list[str]:
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWER_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.split()


@contextlib.contextmanager
def lease_gpus(count: int, *, timeout_s: float | None = None) -> Iterator[tuple[str, ...]]:
    """Hold `count` of the visible GPUs; no other process or thread leases them meanwhile.

    Args:
        count: How many; with 0 nothing is looked at.
        timeout_s: Time to wait for enough to be free, in seconds; `None` for as long as it
            takes. Those who wait are served one after the other.

    Yields:
        The ids.

    Raises:
        SandboxUnavailableError: Fewer than `count` are visible, or time is up.
    """
    if count == 0:
        yield ()
        return
    gpus = visible_gpus()
    if len(gpus) < count:
        raise SandboxUnavailableError(
            f"limits.gpus={count}, but this process sees {len(gpus)} GPUs "
            "(CUDA_VISIBLE_DEVICES, nvidia-smi)"
        )
    with contextlib.ExitStack() as locks:
        yield _acquire(count, gpus, timeout_s, locks)


def _acquire(
    count: int, gpus: Sequence[str], timeout_s: float | None, locks: contextlib.ExitStack
) -> tuple[str, ...]:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    leased: list[str] = []
    with contextlib.ExitStack() as turn:
        # One at a time collects GPUs: two that hold a part each would wait for ever.
        while not _lock(_TURN, turn):
            _wait(deadline, count)
        while True:
            for gpu in gpus:
                if len(leased) < count and gpu not in leased and _lock(gpu, locks):
                    leased.append(gpu)
            if len(leased) == count:
                return tuple(leased)
            _wait(deadline, count)


def _wait(deadline: float | None, count: int) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise SandboxUnavailableError(f"limits.gpus={count}: not enough GPUs became free in time")
    time.sleep(_POLL_S)


def _lock(name: str, stack: contextlib.ExitStack) -> bool:
    """Take the lock `name` until `stack` closes, if it is free."""
    descriptor = _open(_directory() / name.replace("/", "-"))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    _held.add(descriptor)
    stack.callback(_release, descriptor)
    return True


def _release(descriptor: int) -> None:
    if descriptor in _held:  # not in a fork, where it is closed already
        _held.remove(descriptor)
        os.close(descriptor)


def _release_all() -> None:
    for descriptor in list(_held):
        _release(descriptor)


os.register_at_fork(after_in_child=_release_all)


def _directory() -> Path:
    """Where the lock files are: one place for all users of the machine."""
    path = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir())
    path = path / _DIRECTORY
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        path.chmod(0o1777)
    return path


def _open(path: Path) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, 0o644)  # for other users, whatever our umask
    return descriptor
