"""What the file system of a job looks like, told once for all back ends that can build one.

    /kaggle/working     the working directory, writable
    /kaggle/<name>      the job's data, read-only, so that `../<name>` finds it
    /kaggle/tmp         HOME and TMPDIR, also /tmp (unless packages are installed below that)
    /kaggle/shm         also /dev/shm

`/kaggle` is one tmpfs with a size: nothing else is writable, so that this size bounds all
that a job writes. Interpreter and packages are at the same paths as on the host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from wmrl_gym.sandboxes.runtime import Runtime

ROOM = "/kaggle"
WORKDIR = "/kaggle/working"
HOME = "/kaggle/tmp"
RESERVED = frozenset({"working", "tmp", "shm"})
"""Names that data cannot have."""

GUEST = Path(__file__).resolve().parent / "guest"
"""Code of the watcher, which bubblewrap starts inside."""

Operation = (
    tuple[str, str] | tuple[str, str, str] | tuple[str, str, int] | tuple[str, str, int, int]
)
"""Name of a function of `guest.mounts`, path in the sandbox, further arguments."""

_DEVICES = ("null", "zero", "full", "random", "urandom")
_MASK_SIZE = 1 << 20


def operations(
    runtime: Runtime, prefix: Path, data: Mapping[str, Path], scratch_bytes: int
) -> list[Operation]:
    """Operations that build the file system of one job, in order."""
    steps: list[Operation] = []
    steps += [("symlink", path, os.readlink(path)) for path in _links(runtime.readable)]
    visible = [*_resolved(runtime.readable), prefix, GUEST]
    steps += _covered(visible, runtime.masked, prefix / "empty")
    steps += [("bind", "/etc", str(prefix / "etc")), ("proc", "/proc")]
    steps += [("device", f"/dev/{name}", f"/dev/{name}") for name in _DEVICES]
    if not any(path.is_relative_to("/tmp") for path in visible):
        steps.append(("symlink", "/tmp", HOME))
    steps += [
        ("symlink", "/dev/shm", "/kaggle/shm"),
        ("symlink", "/dev/fd", "/proc/self/fd"),
        ("tmpfs", "/kaggle", scratch_bytes, 0o755),
        ("directory", WORKDIR, 0o777),
        ("directory", HOME, 0o1777),
        ("directory", "/kaggle/shm", 0o1777),
    ]
    steps += [("bind", f"/kaggle/{name}", str(path)) for name, path in sorted(data.items())]
    return list(_with_parents(steps))


def split(readable: Iterable[Path], masked: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """`readable` minus `masked` for a rule set that can only allow: `(trees, listings)`.

    A tree with masked parts is replaced by its parts; of the directory itself the names are
    to be shown, since importing lists directories.
    """
    trees: list[Path] = []
    listings: list[Path] = []
    cover = set(masked)
    queue = [path for path in _resolved(readable) if path not in cover]
    while queue:
        path = queue.pop()
        if not any(mask.is_relative_to(path) for mask in cover):
            trees.append(path)
            continue
        listings.append(path)
        # Rules hold for what a link leads to; it needs, and may get, none of its own.
        children = [child for child in path.iterdir() if not child.is_symlink()]
        queue += [child for child in children if child not in cover]
    return trees, listings


def _links(paths: Iterable[Path]) -> list[str]:
    """Top-level directories that are links on this system, such as /lib."""
    return sorted({str(path) for path in paths if path.is_symlink() and len(path.parts) == 2})


def _resolved(paths: Iterable[Path]) -> list[Path]:
    return sorted({path.resolve() for path in paths})


def _covered(visible: Iterable[Path], masked: Iterable[Path], empty: Path) -> Iterator[Operation]:
    """Binds and masks, parents first; what the nearest one above shows already is left out."""
    order = dict.fromkeys(visible, True) | dict.fromkeys(masked, False)
    closing: list[Operation] = []
    shown: dict[Path, bool] = {}
    for path in sorted(order, key=lambda p: p.parts):
        above = next((shown[p] for p in path.parents if p in shown), False)
        if order[path] == above:
            continue
        shown[path] = order[path]
        if order[path]:
            yield ("bind", str(path), str(path))
        elif any(p.is_relative_to(path) for p, is_shown in order.items() if is_shown):
            yield ("tmpfs", str(path), _MASK_SIZE, 0o755)
            closing.append(("read_only", str(path)))
        else:
            yield ("bind", str(path), str(empty))
    yield from closing


def _with_parents(steps: Iterable[Operation]) -> Iterator[Operation]:
    """Add the directories that a step needs and that no earlier one made or brought."""
    made: dict[Path, str] = {Path("/"): "directory"}
    for step in steps:
        path = Path(step[1])
        needed = [path, *path.parents] if step[0] in ("tmpfs", "proc") else list(path.parents)
        for directory in reversed(needed):
            if not _is_there(directory, made):
                made[directory] = "directory"
                yield ("directory", str(directory), 0o755)
        made[path] = step[0]
        yield step


def _is_there(path: Path, made: Mapping[Path, str]) -> bool:
    """Whether `path` was made, or came with the tree that was bound on the nearest one above."""
    if path in made:
        return True
    return next(made[above] for above in path.parents if above in made) == "bind"
