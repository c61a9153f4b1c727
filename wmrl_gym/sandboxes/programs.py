"""Back ends that start a watcher of its own for each job."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from wmrl_gym.sandboxes.backend import Backend
from wmrl_gym.sandboxes.base import Job
from wmrl_gym.sandboxes.exchange import Conversation, Exchange
from wmrl_gym.sandboxes.layout import GUEST

_END_S = 10.0


class ProgramBackend(Backend):
    """Runs `guest/supervisor.py`, wrapped or not, with one job."""

    def _talk(
        self,
        job: Job,
        conversation: Conversation,
        request: bytes,
        wrapper: Sequence[str],
        tree: str,
    ) -> Exchange:
        """Start a supervisor for `job` and hold the conversation.

        Args:
            job: The job.
            conversation: Connects with the supervisor.
            request: What the supervisor is told.
            wrapper: Command line to put before the supervisor's.
            tree: How the supervisor sees the job's processes.
        """
        descriptors = conversation.guest_descriptors
        supervisor = [str(self.prefix.python), "-I", "-S", str(GUEST / "__main__.py"), "supervisor"]
        process = subprocess.Popen(
            [*wrapper, *supervisor, *map(str, descriptors), tree],
            env={"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=conversation.guest_stderr,
            pass_fds=descriptors,
            start_new_session=True,  # a Ctrl-C is the caller's to handle
        )
        conversation.release_guest()
        try:
            return conversation.hold(request, job.limits.wall_s, job.limits.output_kb << 10)
        finally:
            conversation.channel.close()  # a supervisor that is still at it ends now
            _await_end(process)


def _await_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
