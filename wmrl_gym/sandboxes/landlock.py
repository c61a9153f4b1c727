"""Back end "landlock": for machines and containers that allow no namespaces.

The job sees the paths of the host and is refused what is not on its list. Memory, processes
and files are watched, not fenced in: what it writes is on an ordinary file system, whose use
is measured twice a second.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from abc import abstractmethod
from pathlib import Path

from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.base import GUARANTEES, Job
from wmrl_gym.sandboxes.exchange import Conversation, Exchange
from wmrl_gym.sandboxes.guest import landlock, seccomp, wire
from wmrl_gym.sandboxes.jobs import request_of
from wmrl_gym.sandboxes.programs import ProgramBackend

_DEVICES = ("null", "zero", "full", "random", "urandom")
_STATISTICS = ("cpuinfo", "meminfo", "stat", "loadavg", "uptime")
"""Files of /proc that tell about the machine, not about its processes."""

Rules = list[tuple[str, int]]


class ScratchBackend(ProgramBackend):
    """A back end whose jobs work in a private temporary directory of the host."""

    def _converse(self, job: Job, conversation: Conversation) -> Exchange:
        scratch = Path(tempfile.mkdtemp(prefix="wmrl-gym-job-")).resolve()
        try:
            return self._converse_in(scratch, job, conversation)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _converse_in(self, scratch: Path, job: Job, conversation: Conversation) -> Exchange:
        if os.getuid() == 0:
            scratch.chmod(0o755)  # the job runs as nobody
        for name, path in job.data.items():
            (scratch / name).symlink_to(path.resolve())
        workdir, home = str(scratch / "working"), str(scratch / "tmp")
        header, files = request_of(job, self.prefix.python, workdir=workdir, home=home)
        header.update(scratch=str(scratch), own_userns=False, **self._walls(job, scratch))
        # There is no /dev/shm for semaphores: joblib would warn about it in each job.
        header["env"].setdefault("JOBLIB_MULTIPROCESSING", "0")
        return self._talk(job, conversation, wire.encode(header, files), [], "descendants")

    @abstractmethod
    def _walls(self, job: Job, scratch: Path) -> dict[str, object]:
        """What of the request makes the walls."""


class LandlockSandbox(ScratchBackend):
    """Landlock for files, seccomp for sockets, a subreaper for the process tree."""

    name = "landlock"
    guarantees = GUARANTEES - {"scratch_bounded"}

    def _forget(self) -> None:
        super()._forget()
        self._runtime_rules: Rules | None = None

    def _missing(self) -> str:
        if not seccomp.available():
            return "there is no seccomp table for this architecture, and Landlock needs one"
        if landlock.abi() < landlock.REQUIRED_ABI:
            return (
                f"the kernel has version {landlock.abi()} of Landlock (0: none); version "
                f"{landlock.REQUIRED_ABI} is needed (Linux 6.12, with `landlock` in the list of "
                "security modules)"
            )
        return ""

    def _walls(self, job: Job, scratch: Path) -> dict[str, object]:
        private = [(str(scratch / name), landlock.WRITE) for name in ("working", "tmp")]
        data = [(str(path.resolve()), landlock.READ) for path in job.data.values()]
        rules = [*self._rules_of_runtime(), (str(scratch), landlock.LIST), *private, *data]
        return {"landlock": rules, "sockets": []}

    def _rules_of_runtime(self) -> Rules:
        with self._lock:
            if self._runtime_rules is None:
                trees, listings = layout.split(self.runtime.readable, self.runtime.masked)
                trees += [path for n in _STATISTICS if (path := Path("/proc", n)).exists()]
                self._runtime_rules = [
                    *((str(path), landlock.READ) for path in (*trees, self.prefix.path)),
                    *((str(path), landlock.LIST) for path in listings),
                    *((f"/dev/{name}", landlock.DEVICE) for name in _DEVICES),
                ]
            return self._runtime_rules

    def close(self) -> None:
        """End helper processes and remove what is left over; safe to call twice."""
        self._runtime_rules = None
        super().close()
