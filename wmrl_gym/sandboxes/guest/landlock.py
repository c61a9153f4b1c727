"""Landlock: a process gives up, for good, all files that it does not list (Linux 5.13).

Version 6 of the interface (Linux 6.12) is required: it also keeps the job from signalling
processes outside, which is what protects the supervisor.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import syscalls

REQUIRED_ABI = 6

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 0x1, 0x2, 0x4, 0x8
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = 0x10, 0x20, 0x40, 0x80, 0x100
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = 0x200, 0x400, 0x800, 0x1000
_REFER, _TRUNCATE, _IOCTL_DEV = 0x2000, 0x4000, 0x8000
_ALL_FILES = 0xFFFF
_ALL_NET = 0x3
_ALL_SCOPES = 0x3

_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
READ = _EXECUTE | _READ_FILE | _READ_DIR
LIST = _READ_DIR
WRITE = _ALL_FILES & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _IOCTL_DEV)
DEVICE = _READ_FILE | _WRITE_FILE


def abi() -> int:
    """Version of Landlock that this kernel offers; 0 if none."""
    try:
        return syscalls.syscall(_CREATE, ctypes.c_void_p(None), 0, 1, what="landlock")
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Allow `(path, rights)` for whole trees, and nothing else; no TCP, no signals to outside."""
    attributes = struct.pack("=QQQ", _ALL_FILES, _ALL_NET, _ALL_SCOPES)
    ruleset = syscalls.syscall(
        _CREATE, ctypes.c_char_p(attributes), len(attributes), 0, what="landlock_create_ruleset"
    )
    for path, rights in rules:
        _allow(ruleset, path, rights)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.syscall(_RESTRICT_SELF, ruleset, 0, what="landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, descriptor))
        syscalls.syscall(_ADD_RULE, ruleset, 1, rule, 0, what=f"landlock rule for {path}")
    finally:
        os.close(descriptor)
