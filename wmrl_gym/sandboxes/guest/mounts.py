"""Builds the file system that a job sees, from a list of operations.

The list is made by the caller's side (`wmrl_gym.sandboxes.layout`); bubblewrap gets the same
list as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import syscalls

_QUIET = syscalls.MS_NOSUID | syscalls.MS_NODEV
_READ_ONLY = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID


def build(root: str, operations: Sequence[Sequence[Any]]) -> None:
    """Carry out `operations` on a fresh tmpfs at `root`, and make it the root directory."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("tmpfs", root, "tmpfs", _QUIET, "mode=755,size=1m")
    for name, path, *arguments in operations:
        _OPERATIONS[name](root + path, *arguments)
    syscalls.set_mount_attributes(root, _READ_ONLY, recursive=False)
    syscalls.enter_root(root)


def _directory(target: str, mode: int) -> None:
    os.mkdir(target)
    os.chmod(target, mode)


def _symlink(target: str, destination: str) -> None:
    os.symlink(destination, target)


def _bind(target: str, source: str) -> None:
    _attach(target, source, _READ_ONLY | syscalls.MOUNT_ATTR_NODEV)


def _device(target: str, source: str) -> None:
    _attach(target, source, syscalls.MOUNT_ATTR_NOSUID)


def _attach(target: str, source: str, attributes: int) -> None:
    if not os.path.lexists(target):
        _mount_point(target, is_directory=os.path.isdir(source))
    syscalls.mount(source, target, None, syscalls.MS_BIND | syscalls.MS_REC)
    syscalls.set_mount_attributes(target, attributes, recursive=True)


def _mount_point(target: str, *, is_directory: bool) -> None:
    if is_directory:
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))


def _tmpfs(target: str, size: int, mode: int) -> None:
    options = f"mode={mode:o},size={size}"
    syscalls.mount("tmpfs", target, "tmpfs", _QUIET, options)


def _proc(target: str) -> None:
    syscalls.mount("proc", target, "proc", _QUIET | syscalls.MS_NOEXEC)


def _read_only(target: str) -> None:
    syscalls.set_mount_attributes(target, _READ_ONLY, recursive=False)


_OPERATIONS: dict[str, Callable[..., None]] = {
    "directory": _directory,
    "symlink": _symlink,
    "bind": _bind,
    "device": _device,
    "tmpfs": _tmpfs,
    "proc": _proc,
    "read_only": _read_only,
}
