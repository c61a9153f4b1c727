"""What the back ends share: the prefix, a guarded `run`, a cached `probe`, `close`."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes import trial
from wmrl_gym.sandboxes.base import GUARANTEES, Job, JobResult, Probe
from wmrl_gym.sandboxes.exchange import Conversation, Exchange
from wmrl_gym.sandboxes.guest import seccomp
from wmrl_gym.sandboxes.jobs import check_job, failed, result_of
from wmrl_gym.sandboxes.prefix import Prefix
from wmrl_gym.sandboxes.runtime import Runtime, find_runtime


class Backend(ABC):
    """A sandbox that talks to a guest. What it needs is made at the first job.

    After `close` a further job makes it anew. In a fork of this process a back end starts
    from nothing: the helpers are the parent's.
    """

    name: str
    guarantees = GUARANTEES
    passes_gpus = False
    """Whether a job can be given GPUs."""

    _prefix: Prefix | None = None

    def __init__(self) -> None:
        self._forget()
        _backends.add(self)

    def _forget(self) -> None:
        """Leave all helpers and directories to the parent process, if there are any."""
        self._lock = threading.RLock()
        self._probe: Probe | None = None
        if self._prefix is not None:
            self._prefix.disown()
        self._prefix = None

    @property
    def runtime(self) -> Runtime:
        """What jobs may read of this machine."""
        return find_runtime()

    @property
    def prefix(self) -> Prefix:
        """The virtual environment that jobs run in."""
        with self._lock:
            if self._prefix is None:
                self._prefix = Prefix(self.runtime)
            return self._prefix

    def run(self, job: Job) -> JobResult:
        """Run one job. Never raises for what the program did.

        Raises:
            ValueError: `job` cannot be run by any back end, see `check_job`, or it asks for
                GPUs of one that cannot pass them through.
        """
        check_job(job)
        if job.limits.gpus and not self.passes_gpus:
            raise ValueError(
                f"limits.gpus={job.limits.gpus}: the back end {self.name!r} cannot pass GPUs "
                "through; use 'docker'"
            )
        try:
            exchange = self._attempt(job)
        except (OSError, ImportError, SandboxUnavailableError) as error:
            return failed(self.name, f"{type(error).__name__}: {error}")
        return result_of(exchange, job.limits, self.name)

    def _attempt(self, job: Job) -> Exchange:
        conversation = Conversation()
        try:
            return self._converse(job, conversation)
        finally:
            conversation.close()

    @abstractmethod
    def _converse(self, job: Job, conversation: Conversation) -> Exchange:
        """Start the guest of `job` with the guest's side of `conversation`, and talk to it."""

    def _missing(self) -> str:
        """Why the back end cannot work here, as far as it shows without a trial."""
        return ""

    def probe(self) -> Probe:
        """Run a trial job for real and report what works here; cached."""
        with self._lock:
            if self._probe is None:
                self._probe = self._try_out()
            return self._probe

    def _try_out(self) -> Probe:
        enforces = self._promises()
        reason = self._missing() or trial.find_fault(self.run, enforces)
        if reason:
            return Probe(self.name, works=False, reason=reason)
        return Probe(self.name, works=True, enforces=enforces)

    def _promises(self) -> frozenset[str]:
        # Without a filter a job can put memory where only a cgroup would count it.
        return self.guarantees if seccomp.available() else self.guarantees - {"tree_memory"}

    def close(self) -> None:
        """End helper processes and remove what is left over; safe to call twice."""
        with self._lock:
            prefix, self._prefix = self._prefix, None
        if prefix is not None:
            prefix.remove()


_backends: weakref.WeakSet[Backend] = weakref.WeakSet()


def _forget_all() -> None:
    for backend in list(_backends):
        backend._forget()


os.register_at_fork(after_in_child=_forget_all)
