"""Reads the files that a job leaves, trusting nothing about them."""

from __future__ import annotations

import os
import stat


class SkippedError(Exception):
    """A declared output is there but cannot be taken; the message says why."""


def open_output(directory: int, name: str, limit: int) -> int | None:
    """Open the file `name` in the open `directory` for reading.

    Links are not followed and nothing but a regular file is read, so that a job can neither
    point at a file that it may not read itself nor make the reader hang.

    Args:
        directory: File descriptor of the working directory.
        name: Plain file name.
        limit: A file of so many bytes or more is not taken: it hit the limit on file sizes.

    Returns:
        A file descriptor at the start of the file; `None` if there is no such file.

    Raises:
        SkippedError: There is something, but it is not taken.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        raise SkippedError("a symbolic link" if stat.S_ISLNK(kind) else str(error)) from None
    try:
        _require_plain(descriptor, limit)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_plain(descriptor: int, limit: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise SkippedError("not a regular file")
    if status.st_size >= limit:
        raise SkippedError(f"as large as the limit of {limit} bytes, or larger")
    # An empty file has no data before its end, which SEEK_HOLE reports as an error.
    if status.st_size and os.lseek(descriptor, 0, os.SEEK_HOLE) < status.st_size:
        raise SkippedError("a sparse file")
    os.lseek(descriptor, 0, os.SEEK_SET)
