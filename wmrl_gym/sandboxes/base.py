"""What every sandbox back end takes, gives back and promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class JobStatus(StrEnum):
    """How a job ended."""

    OK = "ok"
    """The program ended with exit code 0."""
    ERROR = "error"
    """The program ended with another exit code or by a signal of its own."""
    TIMEOUT = "timeout"
    """The wall or CPU limit stopped it."""
    OUT_OF_MEMORY = "out_of_memory"
    """The memory limit stopped it, or made it fail."""
    SANDBOX_ERROR = "sandbox_error"
    """The sandbox itself failed; nothing can be said about the program."""


@dataclass(frozen=True)
class Limits:
    """What a job may use. Every back end enforces all of them for the whole process tree."""

    wall_s: float = 60.0
    """Wall-clock time, in seconds."""
    cpu_s: float | None = None
    """CPU time of any one process, in seconds; `None` for no limit besides `wall_s`."""
    memory_mb: int = 2048
    """Resident memory of the process tree, in MiB."""
    threads: int = 1
    """Threads that numerical libraries are told to use."""
    processes: int = 128
    """Processes and threads alive at once."""
    output_kb: int = 256
    """Bytes kept of each of stdout and stderr (head and tail), in KiB; the rest is drained."""
    file_mb: int = 256
    """Size of any one file that the job writes, in MiB, and of each output collected."""
    scratch_mb: int = 512
    """Size of all that the job writes, in MiB, where the back end can bound it."""
    gpus: int = 0
    """GPUs leased to the job alone; only the back end "docker" can pass them through."""


@dataclass(frozen=True)
class Job:
    """A Python program to run. It sees `files`, `data` and the runtime's packages, nothing else.

    The working directory holds `files` and is writable; each entry of `data` is a directory
    of the host, readable at `../<name>` relative to the working directory.
    """

    files: Mapping[str, bytes]
    """Files placed in the working directory, by plain file name."""
    entry: str = "main.py"
    """Which of `files` to run as `__main__`."""
    data: Mapping[str, Path] = field(default_factory=dict)
    """Host directories that the job may read, by the name that it finds them under."""
    outputs: Sequence[str] = ()
    """Names of files in the working directory to collect afterwards, links not followed."""
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables, added to the few that the sandbox sets."""


@dataclass(frozen=True)
class JobResult:
    """What came of a job."""

    status: JobStatus
    exit_code: int | None = None
    """Exit code, negative signal number, or `None` where there is neither."""
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    """Whether stdout or stderr was longer than what was kept."""
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    """Collected files by name."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Declared outputs that exist but were not collected, with the reason (a link, too large)."""
    wall_s: float = 0.0
    cpu_s: float | None = None
    peak_mb: float | None = None
    backend: str = ""
    error: str = ""
    """Why the sandbox failed, for `SANDBOX_ERROR`."""


@dataclass(frozen=True)
class Probe:
    """What a real trial run of a back end showed."""

    backend: str
    works: bool
    reason: str = ""
    """Why it does not work; empty if it does."""
    enforces: frozenset[str] = frozenset()
    """Guarantees that hold, among `GUARANTEES`."""


GUARANTEES = frozenset(
    {"network_off", "files_hidden", "tree_kill", "tree_memory", "processes", "scratch_bounded"}
)
"""What a back end can promise; `select_sandbox(require=...)` takes names from this set."""


class Sandbox(Protocol):
    """Runs jobs, each in a fresh sandbox. Thread-safe: jobs of one pool run concurrently."""

    name: str

    def probe(self) -> Probe:
        """Run a trial job for real and report what works here; cached."""
        ...

    def run(self, job: Job) -> JobResult:
        """Run one job. Never raises for what the program did."""
        ...

    def close(self) -> None:
        """End helper processes and remove what is left over; safe to call twice."""
        ...
