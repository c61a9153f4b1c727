from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wmrl_gym.sandboxes import Job, Limits


def job(
    script: str,
    *,
    data: Mapping[str, Path] | None = None,
    outputs: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    **limits: float | None,
) -> Job:
    """A job that runs `script`, with a wall limit that no test comes near unless it says so."""
    return Job(
        files={"main.py": textwrap.dedent(script).encode()},
        data=data or {},
        outputs=outputs,
        env=env or {},
        limits=Limits(**{"wall_s": 60.0, **limits}),
    )


def processes_with(mark: str) -> list[int]:
    """Processes of this machine whose command line or environment holds `mark`, ours excepted."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        texts = [_read(Path("/proc", name, what)) for what in ("cmdline", "environ")]
        if any(mark.encode() in text for text in texts):
            found.append(int(name))
    return found


def _read(path: Path) -> bytes:
    """What is in a file; nothing if it is gone, or a watcher's, which hides its environment."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wait_until_gone(mark: str, timeout_s: float = 10.0) -> list[int]:
    """What `processes_with` still finds after it had time to end."""
    deadline = time.monotonic() + timeout_s
    while (found := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
