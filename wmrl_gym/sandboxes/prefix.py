"""The prefix: a virtual environment on disk that shows a job the packages of its runtime only.

It lasts as long as its owner. One whose owner was killed is removed by the next that is made;
a lock, which the kernel drops with the owner, tells the two apart.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sysconfig
import tempfile
from io import FileIO
from pathlib import Path

from wmrl_gym.sandboxes.runtime import Runtime

_NAME = "wmrl-gym-prefix-"
_LOCK = "lock"


class Prefix:
    """A directory with a virtual environment in it.

    Beside that it holds `etc`, the job's `/etc`, and two empty directories: `root`, to mount
    a job's root on, and `empty`, to cover a masked directory with.
    """

    def __init__(self, runtime: Runtime) -> None:
        # Not below /tmp, which a job sees as a directory of its own.
        parent = "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()
        _sweep(Path(parent))
        self.path = Path(tempfile.mkdtemp(prefix=_NAME, dir=parent)).resolve()
        self._lock = _take_lock(self.path)
        _fill(self.path, runtime)

    @property
    def python(self) -> Path:
        """The interpreter of jobs."""
        return self.path / "bin" / "python"

    def disown(self) -> None:
        """In a fork of the owner: leave the directory to the owner."""
        self._lock.close()

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _take_lock(path: Path) -> FileIO:
    lock = FileIO(path / "new-lock", "x")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (path / "new-lock").rename(path / _LOCK)  # only now may others take it for abandoned
    return lock


def _sweep(parent: Path) -> None:
    for lock in parent.glob(f"{_NAME}*/{_LOCK}"):
        try:
            with FileIO(lock, "r") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # in use, or another user's


def _fill(prefix: Path, runtime: Runtime) -> None:
    for name in ("bin", "etc", "root", "empty"):
        (prefix / name).mkdir()
    (prefix / "pyvenv.cfg").write_text(
        f"home = {runtime.python.parent}\ninclude-system-site-packages = false\n"
    )
    (prefix / "bin" / "python").symlink_to(runtime.python)
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(prefix)}))
    site.mkdir(parents=True)
    for package in runtime.packages:
        (site / package.name).symlink_to(package)
    _write_etc(prefix / "etc")
    prefix.chmod(0o755)  # jobs of root run as nobody


def _write_etc(etc: Path) -> None:
    (etc / "passwd").write_text("root:x:0:0::/:\nnobody:x:65534:65534::/tmp:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\nnogroup:x:65534:\n")
    cache, alternatives = Path("/etc/ld.so.cache"), Path("/etc/alternatives")
    if cache.exists():
        shutil.copyfile(cache, etc / cache.name)
    if alternatives.exists():  # links to libraries, BLAS for one, on Debian
        shutil.copytree(alternatives, etc / alternatives.name, symlinks=True)
