"""Back end "bubblewrap": the namespaces are set up by `bwrap`, the rest is as in the others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.base import Job
from wmrl_gym.sandboxes.exchange import Conversation, Exchange
from wmrl_gym.sandboxes.guest import wire
from wmrl_gym.sandboxes.jobs import request_of
from wmrl_gym.sandboxes.programs import ProgramBackend

_CAPABILITIES = ("SETUID", "SETGID", "SETFCAP", "KILL", "SYS_PTRACE", "DAC_READ_SEARCH")
"""What pid 1 needs as root: to run the job as nobody (SETFCAP is for mapping root into a user
namespace), to watch it, to kill it and to read its outputs."""


class BubblewrapSandbox(ProgramBackend):
    """One `bwrap` for each job, with our own pid 1 inside."""

    name = "bubblewrap"

    def _missing(self) -> str:
        if shutil.which("bwrap") is None:
            return "no `bwrap` on PATH; install the package bubblewrap of your distribution"
        return ""

    def _converse(self, job: Job, conversation: Conversation) -> Exchange:
        header, files = request_of(
            job, self.prefix.python, workdir=layout.WORKDIR, home=layout.HOME
        )
        data = {name: path.resolve() for name, path in job.data.items()}
        scratch = job.limits.scratch_mb << 20
        steps = layout.operations(self.runtime, self.prefix.path, data, scratch)
        wrapper = [shutil.which("bwrap") or "bwrap", *_privileges(), *_mounts(steps), "--"]
        return self._talk(job, conversation, wire.encode(header, files), wrapper, "namespace")


def _privileges() -> list[str]:
    # --die-with-parent means the thread that starts bwrap: it is the one that waits for the job.
    shared = "--unshare-ipc --unshare-pid --unshare-net --unshare-uts --new-session --as-pid-1"
    arguments = [*shared.split(), "--die-with-parent", "--hostname", "sandbox"]
    if os.getuid() != 0:
        return [*arguments, "--unshare-user", "--uid", "65534", "--gid", "65534"]
    # In a user namespace of root's, jobs would be root to the kernel, whose processes are not
    # limited; so the job gets a user namespace from pid 1 instead.
    added = [a for name in _CAPABILITIES for a in ("--cap-add", f"CAP_{name}")]
    return [*arguments, "--cap-drop", "ALL", *added]


def _mounts(steps: Sequence[layout.Operation]) -> list[str]:
    arguments = [text for step in steps for text in _arguments(step)]
    return [*arguments, "--remount-ro", "/", "--chdir", "/"]


def _arguments(step: layout.Operation) -> list[str]:
    name, path, *rest = step
    match name:
        case "directory":
            return ["--perms", f"{rest[0]:04o}", "--dir", path]
        case "symlink":
            return ["--symlink", str(rest[0]), path]
        case "bind":
            return ["--ro-bind", str(rest[0]), path]
        case "device":
            return ["--dev-bind", str(rest[0]), path]
        case "tmpfs":
            return ["--perms", f"{rest[1]:04o}", "--size", str(rest[0]), "--tmpfs", path]
        case "proc":
            return ["--proc", path]
        case "read_only":
            return ["--remount-ro", path]
    raise ValueError(f"unknown operation {name!r}")
