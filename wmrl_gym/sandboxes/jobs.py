"""Checks a job, puts it into the words of the guest, and reads the guest's answer."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.base import Job, JobResult, JobStatus, Limits
from wmrl_gym.sandboxes.exchange import Exchange
from wmrl_gym.sandboxes.guest.wire import Header

_STATUS = {
    "wall": JobStatus.TIMEOUT,
    "cpu": JobStatus.TIMEOUT,
    "memory": JobStatus.OUT_OF_MEMORY,
    "scratch": JobStatus.ERROR,
    "processes": JobStatus.ERROR,
    "abandoned": JobStatus.SANDBOX_ERROR,
}
_KILLED = {
    "scratch": "\nKilled: more files written than the limit of {scratch_mb} MiB allows.\n",
    "processes": "\nKilled: more processes than the limit of {processes}.\n",
}
_CHILD_OUT_OF_MEMORY = "\nA process was killed by the memory limit of {memory_mb} MiB.\n"

GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"
"""Set for every job: libraries take all GPUs of the machine where it is not."""

_OUT_OF_MEMORY = re.compile(r"(\w+\.)*_?(Array)?MemoryError\b|.*std::bad_alloc")
"""Last line of stderr of a program that an allocation failed."""


def check_job(job: Job) -> None:
    """Refuse what no back end can run.

    Raises:
        ValueError: A name is not a plain file name, `entry` is not among `files`, a data
            directory does not exist, a variable cannot be set, or a limit is not a positive
            number.
    """
    for field, names in (("files", job.files), ("outputs", job.outputs), ("data", job.data)):
        for name in names:
            _require_plain(field, name)
    if job.entry not in job.files:
        raise ValueError(f"entry={job.entry!r} is not among files: {sorted(job.files)}")
    for name, path in job.data.items():
        if name in layout.RESERVED:
            raise ValueError(f"data name {name!r} is taken; call it neither of {layout.RESERVED}")
        if not path.is_dir():
            raise ValueError(f"data[{name!r}]={str(path)!r} is not a directory")
    _check_environment(job.env)
    _check_limits(job.limits)


def _check_environment(env: Mapping[str, str]) -> None:
    for key, value in env.items():
        if not key or "=" in key or "\0" in key + value:
            raise ValueError(f"env[{key!r}]={value!r} is not a valid environment variable")
    if GPU_VARIABLE in env:
        raise ValueError(f"env must not set {GPU_VARIABLE}: ask for GPUs by limits.gpus")


def _check_limits(limits: Limits) -> None:
    for field, limit in dataclasses.asdict(limits).items():
        if field != "gpus" and limit is not None and not 0 < limit < math.inf:
            raise ValueError(f"limits.{field} must be positive and finite, got {limit!r}")
    if limits.gpus < 0:
        raise ValueError(f"limits.gpus={limits.gpus} must be at least 0")


def _require_plain(field: str, name: str) -> None:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{field} must be named by plain file names without '/', got {name!r}")


def request_of(job: Job, python: Path, *, workdir: str, home: str) -> tuple[Header, bytes]:
    """What the guest is told to run `job`, and the contents of its files.

    The defaults are those of a back end that builds namespaces and runs the script in a
    program of its own; back ends change the header where they differ:

    - `command`: the program to execute; `None` to run the script in the forked interpreter
    - `mounts`: operations of `guest.mounts`
    - `landlock`: pairs of path and rights, or `None`
    - `seccomp`, `sockets`: whether to filter system calls; address families left allowed
    - `change_user`: whether a root watcher runs the job as nobody
    - `own_userns`: whether a root watcher gives the job a user namespace of its own
    - `other_processes`: threads that count against the limit but are not the job's
    - `scratch`: directory whose size to watch, and to remove in the end, or `None`
    - `writable`: paths of other file systems than the working directory's whose use counts
    - `own_cgroup`: whether the watcher and the job have a memory cgroup to themselves
    - `directories`: what the watcher has to make before the job starts, in a container
    - `deadline_s`: when the watcher has to end whatever happens, in a container
    """
    header: Header = {
        "files": [(name, len(content)) for name, content in job.files.items()],
        "entry": job.entry,
        "outputs": list(job.outputs),
        "workdir": workdir,
        "env": environment(job, python, home),
        "limits": dataclasses.asdict(job.limits),
        "command": [str(python), job.entry],
        "mounts": [],
        "landlock": None,
        "seccomp": True,
        "sockets": [1, 2, 10],  # AF_UNIX, AF_INET, AF_INET6: the network namespace is empty
        "change_user": True,
        "own_userns": True,
        "other_processes": 0,
        "scratch": None,
        "writable": [],
        "own_cgroup": False,
        "directories": [],
        "deadline_s": None,
    }
    return header, b"".join(job.files.values())


def environment(job: Job, python: Path, home: str) -> dict[str, str]:
    """All environment variables of `job`; nothing of the caller's is among them."""
    threads = str(job.limits.threads)
    return {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "LOKY_MAX_CPU_COUNT": threads,
        **job.env,
        # The leased ones are the only ones a job sees, so that their numbers start at 0.
        GPU_VARIABLE: ",".join(map(str, range(job.limits.gpus))),
    }


def result_of(exchange: Exchange, limits: Limits, backend: str) -> JobResult:
    """The result that the guest's answer means."""
    reports = {header["kind"]: header for header, _ in exchange.messages}
    if "exit" not in reports:
        told = reports.get("error", {}).get("message", exchange.failure)
        return failed(backend, f"{told}\n{exchange.stderr}")
    report = reports["exit"]
    status, stderr = _status_of(report, exchange.stderr, limits)
    return JobResult(
        status=status,
        exit_code=report["code"],
        stdout=exchange.stdout,
        stderr=stderr,
        truncated=exchange.truncated,
        outputs={h["name"]: content for h, content in _of_kind("output", exchange)},
        skipped={h["name"]: h["reason"] for h, _ in _of_kind("skipped", exchange)},
        wall_s=report["wall_s"],
        cpu_s=report["cpu_s"],
        peak_mb=report["peak_mb"],
        backend=backend,
        error="the job was given up" if status is JobStatus.SANDBOX_ERROR else "",
    )


def failed(backend: str, error: str) -> JobResult:
    """The result of a job about which nothing can be said."""
    return JobResult(status=JobStatus.SANDBOX_ERROR, backend=backend, error=error.strip())


def _status_of(report: Header, stderr: str, limits: Limits) -> tuple[JobStatus, str]:
    cause, values = report["cause"], dataclasses.asdict(limits)
    if cause != "exited":
        return _STATUS[cause], stderr + _KILLED.get(cause, "").format(**values)
    if report["oom_kills"]:
        # A program that lost a child and says that all is well has not done what it should.
        status = JobStatus.OUT_OF_MEMORY if report["code"] else JobStatus.ERROR
        return status, stderr + _CHILD_OUT_OF_MEMORY.format(**values)
    if report["code"] == 0:
        return JobStatus.OK, stderr
    last_line = stderr.rstrip().rpartition("\n")[2]
    if _OUT_OF_MEMORY.match(last_line):
        return JobStatus.OUT_OF_MEMORY, stderr
    return JobStatus.ERROR, stderr


def _of_kind(kind: str, exchange: Exchange) -> Iterable[tuple[Mapping[str, str], bytes]]:
    return [(h, content) for h, content in exchange.messages if h["kind"] == kind]
