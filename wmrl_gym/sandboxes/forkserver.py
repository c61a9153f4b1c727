"""Back end "forkserver": namespaces around forks of a warm interpreter.

Importing numpy, pandas and scikit-learn takes seconds; forking a process that has done it
takes milliseconds. Each fork moves into namespaces of its own before it runs a job.
"""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import tempfile

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.backend import Backend
from wmrl_gym.sandboxes.base import Job
from wmrl_gym.sandboxes.exchange import Conversation, Exchange
from wmrl_gym.sandboxes.guest import wire
from wmrl_gym.sandboxes.jobs import environment, request_of

_PRELOAD_S = 300.0
_END_S = 10.0


class ForkServerSandbox(Backend):
    """One helper process that forks; any number of jobs at once."""

    name = "forkserver"

    _zygote: _Zygote | None = None

    def _forget(self) -> None:
        super()._forget()
        if self._zygote is not None:
            self._zygote.disown()
        self._zygote = None

    def _attempt(self, job: Job) -> Exchange:
        exchange = super()._attempt(job)
        with self._lock:
            has_died = self._zygote is not None and not self._zygote.is_alive()
        if has_died and not exchange.messages:
            return super()._attempt(job)  # it was dying when it got the job: nothing ran yet
        return exchange

    def _converse(self, job: Job, conversation: Conversation) -> Exchange:
        header, files = request_of(
            job, self.prefix.python, workdir=layout.WORKDIR, home=layout.HOME
        )
        header["command"] = None
        scratch = job.limits.scratch_mb << 20
        data = {name: path.resolve() for name, path in job.data.items()}
        header["mounts"] = layout.operations(self.runtime, self.prefix.path, data, scratch)
        zygote, number = self._send(conversation)
        conversation.release_guest()
        request = wire.encode(header, files)
        exchange = None
        try:
            exchange = conversation.hold(request, job.limits.wall_s, job.limits.output_kb << 10)
        finally:
            if exchange is None or exchange.failure:
                zygote.kill(number)
        return exchange

    def _send(self, conversation: Conversation) -> tuple[_Zygote, int]:
        """Have a fork made that holds the guest's side of `conversation`."""
        with self._lock:
            if self._zygote is not None and not self._zygote.is_alive():
                self._zygote.stop()
                self._zygote = None
            if self._zygote is None:
                self._zygote = _Zygote(self)
            return self._zygote, self._zygote.fork(conversation.guest_descriptors)

    def close(self) -> None:
        """End the fork server and its jobs, and remove what is left over."""
        with self._lock:
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.stop()
        super().close()


class _Zygote:
    """The helper process and the socket that gives it orders."""

    def __init__(self, sandbox: ForkServerSandbox) -> None:
        self._numbers = itertools.count()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        job = Job(files={}, env={})
        with theirs, tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                [
                    *(str(sandbox.prefix.python), str(layout.GUEST / "__main__.py"), "zygote"),
                    *(str(theirs.fileno()), str(sandbox.prefix.path), *sandbox.runtime.preload),
                ],
                env=environment(job, sandbox.prefix.python, "/"),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a Ctrl-C is the caller's to handle
            )
            theirs.close()
            try:
                self._await_ready()
            except (OSError, SandboxUnavailableError) as error:
                self.stop()
                complaints.seek(0)
                text = complaints.read().decode(errors="replace")
                raise SandboxUnavailableError(f"the fork server: {error}\n{text}") from None

    def _await_ready(self) -> None:
        self._control.settimeout(_PRELOAD_S)
        answer = self._control.recv(1 << 16)
        if not answer:
            raise SandboxUnavailableError("it ended before it was ready")
        error = json.loads(answer)["error"]
        if error:
            raise SandboxUnavailableError(error)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, descriptors: list[int]) -> int:
        """Start a job that holds `descriptors`; its number."""
        number = next(self._numbers)
        order = json.dumps({"order": "run", "job": number}).encode()
        socket.send_fds(self._control, [order], descriptors)
        return number

    def kill(self, number: int) -> None:
        try:
            self._control.send(json.dumps({"order": "kill", "job": number}).encode())
        except OSError:
            return  # the fork server is gone, and its jobs with it

    def disown(self) -> None:
        """In a fork of the caller: leave the parent's helper alone."""
        self._control.close()
        self._process.returncode = 0  # not ours to wait for, nor to be warned about

    def stop(self) -> None:
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
