"""How a container gets its descriptors: a socket in a directory that is mounted for that alone."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes.exchange import START_S

SOCKET = "socket"
"""Name of the socket in its directory."""
_POLL_S = 0.5


class Rendezvous:
    """A socket in a directory of its own, where one guest fetches its descriptors.

    Args:
        parent: Directory that other users cannot enter; a container enters from within.
    """

    def __init__(self, parent: Path) -> None:
        self.directory = Path(tempfile.mkdtemp(dir=parent))
        self.directory.chmod(0o755)
        path = self.directory / SOCKET
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen(1)
        self._listener.settimeout(_POLL_S)

    def hand_over(self, descriptors: Sequence[int], check: Callable[[], object]) -> None:
        """Wait for the guest, give it `descriptors`, and let nobody else in.

        Beside them it gets one that tells it of this process's death.

        Args:
            descriptors: Channel, stdout and stderr.
            check: Called now and then; raises if the guest will not come.

        Raises:
            SandboxUnavailableError: It did not come in time.
        """
        guest = self._accept(check)
        self.close()
        life = os.pidfd_open(os.getpid())
        try:
            with guest:
                socket.send_fds(guest, [b"\0"], [*descriptors, life])
        finally:
            os.close(life)

    def _accept(self, check: Callable[[], object]) -> socket.socket:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                return self._listener.accept()[0]
            except TimeoutError:
                check()
        raise SandboxUnavailableError("the container did not connect in time")

    def close(self) -> None:
        """Remove the socket; safe to call twice."""
        self._listener.close()
        (self.directory / SOCKET).unlink(missing_ok=True)

    def __enter__(self) -> Rendezvous:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        self.directory.rmdir()
