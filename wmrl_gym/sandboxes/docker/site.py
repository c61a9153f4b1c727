"""What the back end "docker" holds while it works: a client, directories, and who uses them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes.docker.engine import connect, engine_errors
from wmrl_gym.sandboxes.docker.sweep import DIRECTORY_NAME, remove_containers_of, sweep_containers
from wmrl_gym.sandboxes.owned import OwnedDirectory
from wmrl_gym.sandboxes.staging import Staging

_END_S = 30.0
_POLL_S = 0.1

_log = logging.getLogger(__name__)


class DockerSite:
    """Connects to the engine and removes what dead processes left there.

    Raises:
        MissingDependencyError: The package `docker` is not installed.
        SandboxUnavailableError: No engine answers, or it fails.
    """

    def __init__(self) -> None:
        self.client = connect()
        try:
            with engine_errors():
                sweep_containers(self.client)
                self.processors = int(self.client.info()["NCPU"])
        except BaseException:
            self.client.close()
            raise
        self._owned = OwnedDirectory(DIRECTORY_NAME)
        for path in (self.meetings, self.empty, self.owner / "data"):
            path.mkdir()
            path.chmod(0o755)  # the directory around them is ours alone
        self.staging = Staging(self.owner / "data")
        self._jobs = 0
        self._is_closed = False
        self._changed = threading.Condition()

    @property
    def owner(self) -> Path:
        """Directory that stands for this process in labels."""
        return self._owned.path

    @property
    def meetings(self) -> Path:
        """Where sockets are made."""
        return self.owner / "meetings"

    @property
    def empty(self) -> Path:
        """An empty directory, to cover another one with."""
        return self.owner / "empty"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While a job runs here: `close` waits for its end.

        Raises:
            SandboxUnavailableError: It is closed already.
        """
        with self._changed:
            if self._is_closed:
                raise SandboxUnavailableError("the sandbox was closed")
            self._jobs += 1
        try:
            yield
        finally:
            with self._changed:
                self._jobs -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """End all jobs, and remove all containers and directories."""
        with self._changed:
            self._is_closed = True
        try:
            with engine_errors():
                self._end_jobs()
        except (SandboxUnavailableError, OSError) as error:
            _log.warning("containers are left for the next sweep: %s", error)
        self.client.close()
        self._owned.remove()

    def _end_jobs(self) -> None:
        deadline = time.monotonic() + _END_S
        while True:
            remove_containers_of(self.client, self.owner)
            with self._changed:
                # A job may be about to start its container: then look again.
                if not self._jobs or time.monotonic() > deadline:
                    return
                self._changed.wait(_POLL_S)

    def disown(self) -> None:
        """In a fork of the owner: leave containers and directories to the owner."""
        self.client.close()
        self._owned.disown()
