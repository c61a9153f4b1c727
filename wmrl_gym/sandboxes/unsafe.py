"""Back end "unsafe-subprocess": a plain subprocess with limits. It is not a sandbox."""

from __future__ import annotations

import warnings
from pathlib import Path

from wmrl_gym.sandboxes.base import Job
from wmrl_gym.sandboxes.landlock import ScratchBackend


class UnsafeSubprocess(ScratchBackend):
    """Runs a job with all the rights of the caller; only for code that you trust.

    Limits on time, memory, processes and output hold for a program that does not fight them.
    """

    name = "unsafe-subprocess"
    guarantees = frozenset()

    def __init__(self) -> None:
        super().__init__()
        warnings.warn(
            "unsafe-subprocess is not a sandbox: the code it runs can use the network, read and "
            "change every file that you can, hidden answers among them, signal your processes "
            "and outlive its limits; use it only for code that you trust",
            UserWarning,
            stacklevel=2,
        )

    def _walls(self, job: Job, scratch: Path) -> dict[str, object]:
        return {"seccomp": False, "change_user": False}
