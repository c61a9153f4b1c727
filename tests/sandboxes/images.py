"""A small image with an interpreter of its own, as a user may bring: made here, not pulled."""

from __future__ import annotations

import io
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import docker

_LEFT_OUT = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "__pycache__",
)
_DATA = ("sklearn/datasets/data/wine.csv", "scipy/io/tests/data/iris.arff")


def build_python_image(client: docker.DockerClient, repository: str) -> None:
    """Interpreter, standard library and C libraries, with two files of "answers" in packages."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        _add_interpreter(archive)
        for name in _DATA:
            packages = f"opt/python/lib/python{sys.version_info[0]}.{sys.version_info[1]}"
            entry = tarfile.TarInfo(f"{packages}/site-packages/{name}")
            entry.size = len(b"answers")
            archive.addfile(entry, io.BytesIO(b"answers"))
    changes = ["ENV PATH=/opt/python/bin:/usr/bin", "ENV OWN=image"]
    client.api.import_image_from_data(
        stream.getvalue(), repository=repository, tag="1", changes=changes
    )


def _add_interpreter(archive: tarfile.TarFile) -> None:
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    for name in ("usr/lib", "usr/lib64", "tmp"):
        directory = tarfile.TarInfo(name)
        directory.type, directory.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(directory)
    for name in ("lib", "lib64"):
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
        archive.addfile(link)
    archive.add(python, "opt/python/bin/python")
    archive.add(library, f"opt/python/lib/{library.name}", filter=_shorten)
    objects = [python, *library.glob("lib-dynload/*.so")]
    for path in sorted({path for item in objects for path in _libraries(item)}):
        target = f"/usr{path}" if path.startswith("/lib") else path
        archive.add(Path(path).resolve(), target.lstrip("/"))


def _shorten(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = entry.name.split("/")
    is_left_out = any(name in _LEFT_OUT or name.startswith("config-") for name in parts)
    entry.uid = entry.gid = 0
    return None if is_left_out or entry.name.endswith(".a") else entry


def _libraries(item: Path) -> list[str]:
    told = subprocess.run(["ldd", str(item)], capture_output=True, text=True).stdout
    words = [word for line in told.splitlines() for word in line.split()]
    return [word for word in words if word.startswith("/") and Path(word).exists()]
