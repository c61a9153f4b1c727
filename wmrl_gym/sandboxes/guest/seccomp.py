"""A deny-list of system calls that no ML script needs and that widen what a job can reach.

The rest of the walls stands without it; it closes what they leave open: memory that no
limit counts (`memfd_create`, System V shared memory), new namespaces, kernel interfaces with
a record of escapes, and reaching into other processes of the same user.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable

from . import syscalls

_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_CLONE, _SOCKET, _PRLIMIT, _SET_AFFINITY, _CLONE3 = 56, 41, 302, 203, 435
_NAMESPACE_FLAGS = 0x7E020000
"""Every CLONE_NEW* flag that `clone` can carry."""

_DENIED = {
    "semget": 64, "shmget": 29, "msgget": 68, "mq_open": 240,
    "memfd_create": 319, "memfd_secret": 447,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440,
    "kcmp": 312, "pidfd_getfd": 438, "move_pages": 279, "migrate_pages": 256,
    "unshare": 272, "setns": 308, "chroot": 161, "pivot_root": 155,
    "mount": 165, "umount2": 166, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "open_by_handle_at": 304, "quotactl": 179, "acct": 163,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "add_key": 248, "request_key": 249, "keyctl": 250,
    "init_module": 175, "finit_module": 313, "delete_module": 176,
    "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "syslog": 103,
    "swapon": 167, "swapoff": 168, "iopl": 172, "ioperm": 173, "modify_ldt": 154,
    "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144,
    "sched_setattr": 314, "ioprio_set": 251, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "personality": 135,
}  # fmt: skip

_METADATA = {
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93,
    "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261,
    "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "lremovexattr": 198, "fremovexattr": 199,
}  # fmt: skip

Instruction = tuple[int, int, int, int]


def available() -> bool:
    """Whether there is a table for this machine's architecture."""
    return platform.machine() == "x86_64"


def install(domains: Iterable[int], *, ignore_metadata: bool) -> None:
    """Filter the system calls of this process and of all that come from it; for good.

    Args:
        domains: Address families that `socket` may still be called with.
        ignore_metadata: Answer changes of mode, owner, times and extended attributes with
            success without making them. Landlock does not cover them, and a job that runs
            as the caller could otherwise lock the caller out of their own files; `shutil.copy`
            needs them to "work".
    """
    program = _program(list(domains), ignore_metadata=ignore_metadata)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    pointer = ctypes.create_string_buffer(head, len(head))
    syscalls.prctl(syscalls.PR_SET_SECCOMP, 2, ctypes.addressof(pointer))


def _program(domains: list[int], *, ignore_metadata: bool) -> list[Instruction]:
    refuse = _ERRNO | errno.EPERM
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]
    # glibc falls back from clone3, whose flags a filter cannot see, to clone.
    program += _answer(_CLONE3, _ERRNO | errno.ENOSYS)
    for number in _DENIED.values():
        program += _answer(number, refuse)
    if ignore_metadata:
        for number in _METADATA.values():
            program += _answer(number, _ERRNO)
    program += _inspect(_CLONE, 0, [(_ANY_BIT, 0, 1, _NAMESPACE_FLAGS), (_RETURN, 0, 0, refuse)])
    # What rules another process, pid 1 above all, is not the job's to change; 0 is oneself.
    for number in (_PRLIMIT, _SET_AFFINITY):
        program += _inspect(number, 0, [(_EQUAL, 1, 0, 0), (_RETURN, 0, 0, refuse)])
    allowed = [step for d in domains for step in ((_EQUAL, 0, 1, d), (_RETURN, 0, 0, _ALLOW))]
    program += _inspect(_SOCKET, 0, [*allowed, (_RETURN, 0, 0, _ERRNO | errno.EACCES)])
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _answer(number: int, verdict: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, verdict)]


def _inspect(number: int, argument: int, steps: list[Instruction]) -> list[Instruction]:
    """Look at the low half of an argument of system call `number`, then look no further."""
    body = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), *steps, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), number), *body]
