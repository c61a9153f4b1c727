"""The prefix: a virtual environment on disk that shows a job the packages of its runtime only."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

from wmrl_gym.sandboxes.owned import OwnedDirectory
from wmrl_gym.sandboxes.runtime import Runtime

PREFIX_NAME = "wmrl-gym-prefix-"
"""How the names of the directories begin."""


class Prefix(OwnedDirectory):
    """A directory with a virtual environment in it, which lasts as long as its owner.

    Beside that it holds `etc`, the job's `/etc`, and two empty directories: `root`, to mount
    a job's root on, and `empty`, to cover a masked directory with.
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(PREFIX_NAME)
        _fill(self.path, runtime)

    @property
    def python(self) -> Path:
        """The interpreter of jobs."""
        return self.path / "bin" / "python"


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
    _open_to_all(prefix)  # jobs of root run as nobody, whatever umask root has


def _open_to_all(path: Path) -> None:
    if path.is_symlink():
        return
    path.chmod(0o755 if path.is_dir() else 0o644)
    for child in path.iterdir() if path.is_dir() else ():
        _open_to_all(child)


def _write_etc(etc: Path) -> None:
    (etc / "passwd").write_text("root:x:0:0::/:\nnobody:x:65534:65534::/tmp:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    for name in ("hostname", "resolv.conf"):  # Docker mounts files of its own on these three
        (etc / name).touch()
    cache, alternatives = Path("/etc/ld.so.cache"), Path("/etc/alternatives")
    if cache.exists():
        shutil.copyfile(cache, etc / cache.name)
    if alternatives.exists():  # links to libraries, BLAS for one, on Debian
        shutil.copytree(alternatives, etc / alternatives.name, symlinks=True)
