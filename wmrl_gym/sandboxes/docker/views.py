"""What a container shows: the trees of this machine, or those of the user's own image."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.prefix import Prefix
from wmrl_gym.sandboxes.runtime import ANSWERS, Runtime

_GUEST = "/opt/wmrl-gym/guest"
"""Where the watcher's code is, in the user's own image."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

Bind = tuple[str, str]
"""Directory or file of this machine, and where the container shows it, read-only."""


@dataclass(frozen=True)
class View:
    """What the containers of a back end have in common."""

    image: str
    binds: tuple[Bind, ...]
    covers: tuple[str, ...] = ()
    """Directories to hide under an empty one; some of `binds` may show through."""
    writable: tuple[str, ...] = ("/dev/shm",)
    """File systems beside `/kaggle` that a job can write to."""
    python: str = "python"
    guest: str = _GUEST
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the image sets."""


def view_of_host(image: str, runtime: Runtime, prefix: Prefix) -> View:
    """The trees that the other back ends show as well, with the same masks."""
    steps = layout.operations(runtime, prefix.path, {}, 0)
    return View(
        image=image,
        binds=tuple((str(rest[0]), path) for name, path, *rest in steps if name == "bind"),
        covers=tuple(s[1] for s in steps if s[0] == "tmpfs" and s[1] != layout.ROOM),
        python=str(prefix.python),
        guest=str(layout.GUEST),
    )


def view_of_image(
    image: str, environment: Mapping[str, str], masked: Iterable[str], empty: Path
) -> View:
    """The user's own image, with a `/tmp` to write to, and the watcher's code."""
    masks = [(str(empty), path) for path in masked]
    return View(
        image=image,
        binds=((str(layout.GUEST), _GUEST), *masks),
        writable=("/dev/shm", "/tmp"),
        environment={"PATH": _DEFAULT_PATH, **environment},
    )


def hide_machine(empty: Path) -> list[Bind]:
    """Binds that leave nothing of `/sys` but the container's own limits."""
    return [(str(empty), f"/sys/{name}") for name in sorted(os.listdir("/sys")) if name != "fs"]


FIND_ANSWERS = f"""
import json, os, sys

masked = []
for site in sys.path[1:]:
    masked += [os.path.join(site, name) for name in {ANSWERS}]
    for path, names, _ in os.walk(site):
        if path.endswith("/tests") and "data" in names:
            masked.append(os.path.join(path, "data"))
with open("masked.json", "w") as file:
    json.dump(sorted({{os.path.realpath(p) for p in masked if os.path.isdir(p)}}), file)
"""
"""A job that lists where packages of the user's own image keep data that tasks are made from."""
