"""The few Linux system calls that the standard library lacks, through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
MNT_DETACH = 0x2

MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 0x1, 0x2, 0x4

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2

CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAP_KILL = 5
CAP_SETGID = 6
CAP_SETUID = 7
CAP_SYS_PTRACE = 19
CAP_SETFCAP = 31

AT_FDCWD = -100
AT_RECURSIVE = 0x8000

_SYS_MOUNT_SETATTR = 442
_SYS_PIVOT_ROOT = 155 if platform.machine() == "x86_64" else 41
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object, what: str) -> int:
    """Call system call `number`; integers are passed as C longs.

    Raises:
        OSError: The call failed; the message names `what`.
    """
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *wide), what)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for fresh ones."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """`mount(2)`."""
    arguments = [s.encode() if s else None for s in (source, target, kind)]
    data = options.encode() or None
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), data)
    _check(result, f"mount {kind or 'bind'} of {source} on {target}")


def set_mount_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    """Add `attributes` to the mount at `target`, keeping those it has (Linux 5.12)."""
    flags = AT_RECURSIVE if recursive else 0
    block = struct.pack("=QQQQ", attributes, 0, 0, 0)
    syscall(
        _SYS_MOUNT_SETATTR,
        AT_FDCWD,
        ctypes.c_char_p(target.encode()),
        flags,
        ctypes.c_char_p(block),
        len(block),
        what=f"mount_setattr on {target}",
    )


def enter_root(path: str) -> None:
    """Make the mount at `path` the root directory and drop the old one."""
    os.chdir(path)
    dot = ctypes.c_char_p(b".")
    syscall(_SYS_PIVOT_ROOT, dot, dot, what="pivot_root")
    # pivot_root stacks the old root on the new one at "."; see pivot_root(2).
    _check(_libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")


def prctl(option: int, *arguments: int) -> int:
    """`prctl(2)`; missing arguments are 0."""
    wide = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return _check(_libc.prctl(option, *wide), f"prctl({option})")


def permitted_capabilities() -> set[int]:
    """Capabilities that this process may use."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status if ":" in line)
    mask = int(fields["CapPrm"], 16)
    return {bit for bit in range(64) if mask >> bit & 1}


def keep_capabilities(keep: Iterable[int]) -> None:
    """Give up every capability but `keep`, here and in programs that are started from here.

    The bounding set stays as it is: under `PR_SET_NO_NEW_PRIVS` it has nothing to bound.
    """
    kept = list(keep)
    mask = sum(1 << bit for bit in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = ctypes.c_char_p(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    sets = ctypes.c_char_p(struct.pack("=6I", low, low, low, high, high, high))
    _check(_libc.capset(header, sets), "capset")
    for bit in kept:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, bit)


def die_with_parent(parent: int | None) -> None:
    """Be killed when the parent's thread ends; exit if `parent` is no longer the parent.

    A changed user id or grown capabilities clear this: call it after such a change.
    """
    prctl(PR_SET_PDEATHSIG, 9)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def close_all_but(keep: Iterable[int]) -> None:
    """Close every file descriptor of this process except those in `keep`."""
    wanted = set(keep)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            try:
                os.close(int(name))
            except OSError:
                continue  # the descriptor that listed the directory
