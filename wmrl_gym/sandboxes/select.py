"""Chooses the sandbox back end."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from multiprocessing.util import Finalize

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes.backend import Backend
from wmrl_gym.sandboxes.base import GUARANTEES, Probe, Sandbox
from wmrl_gym.sandboxes.bubblewrap import BubblewrapSandbox
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox
from wmrl_gym.sandboxes.forkserver import ForkServerSandbox
from wmrl_gym.sandboxes.landlock import LandlockSandbox
from wmrl_gym.sandboxes.unsafe import UnsafeSubprocess

_BACKENDS: dict[str, type[Backend]] = {
    kind.name: kind
    for kind in (
        ForkServerSandbox,
        BubblewrapSandbox,
        LandlockSandbox,
        DockerSandbox,
        UnsafeSubprocess,
    )
}
BACKEND_NAMES = tuple(_BACKENDS)
"""Names that `select_sandbox` takes, besides "auto"; "auto" tries them in this order."""
GPU_BACKENDS = tuple(name for name, kind in _BACKENDS.items() if kind.passes_gpus)
"""Those that can give a job GPUs."""

_VARIABLE = "WMRL_GYM_SANDBOX"
_MEND = (
    "Install bubblewrap, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, start it with the right to "
    "create namespaces), or use a kernel with Landlock (Linux 6.12), or start a Docker engine "
    'and run: pip install "wmrl-gym[docker]" && wmrl-gym sandbox build.'
)

_shared: dict[tuple[int, str], Backend] = {}
_lock = threading.RLock()


def select_sandbox(backend: str = "auto", *, require: Collection[str] = frozenset()) -> Sandbox:
    """The sandbox to run jobs in, shared by all who ask in this process.

    Args:
        backend: A name of `BACKEND_NAMES`; "auto" for the environment variable
            `WMRL_GYM_SANDBOX` if it is set, else for the first back end that works here.
            "unsafe-subprocess" is used only when it is asked for by name.
        require: Names of `GUARANTEES` that must hold.

    Returns:
        A sandbox that passed a trial. It is closed when the process exits; after a `close`
        the next job starts it again.

    Raises:
        ValueError: `backend` or a name in `require` is unknown.
        SandboxUnavailableError: No back end works here and meets `require`.
    """
    unknown = set(require) - GUARANTEES
    if unknown:
        raise ValueError(f"require={sorted(unknown)} is unknown; choose from {sorted(GUARANTEES)}")
    name = os.environ.get(_VARIABLE) or "auto" if backend == "auto" else backend
    if name != "auto" and name not in _BACKENDS:
        raise ValueError(f"backend={name!r} is unknown; choose from {('auto', *BACKEND_NAMES)}")
    candidates = [n for n in BACKEND_NAMES if n != UnsafeSubprocess.name]
    faults = []
    for candidate in candidates if name == "auto" else [name]:
        sandbox = _get(candidate)
        fault = _fault(sandbox.probe(), require)
        if not fault:
            return sandbox
        faults.append(f"  {candidate}: {fault}")
    raise SandboxUnavailableError("\n".join(["no usable sandbox:", *faults, _MEND]))


def probe_all() -> list[Probe]:
    """Try every back end that is a sandbox, and say which work here."""
    return [_get(name).probe() for name in BACKEND_NAMES if name != UnsafeSubprocess.name]


def _get(name: str) -> Backend:
    with _lock:
        key = (os.getpid(), name)  # helpers of a parent process are not ours to use
        if key not in _shared:
            _shared[key] = _BACKENDS[name]()
            # Unlike atexit, this also runs at the end of a worker of multiprocessing.
            Finalize(_shared[key], _shared[key].close, exitpriority=0)
        return _shared[key]


def _fault(probe: Probe, require: Collection[str]) -> str:
    if not probe.works:
        return probe.reason
    missing = sorted(set(require) - probe.enforces)
    return f"it does not promise {', '.join(missing)}" if missing else ""
