"""One container for one job: how it is made, how it ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.base import Limits
from wmrl_gym.sandboxes.docker.rendezvous import SOCKET
from wmrl_gym.sandboxes.docker.sweep import remove
from wmrl_gym.sandboxes.docker.views import Bind, View
from wmrl_gym.sandboxes.exchange import Exchange
from wmrl_gym.sandboxes.guest.child import NOBODY, OPEN_FILES, process_limit

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

MEETING_PLACE = "/run/wmrl-gym"
"""Where a container finds the directory of its `Rendezvous`."""
_OWN_MEMORY_MB = 64
"""For the watcher, and for what the kernel keeps for the container."""

_log = logging.getLogger(__name__)


def arguments(
    view: View,
    limits: Limits,
    *,
    binds: Sequence[Bind],
    labels: Mapping[str, str],
    gpus: Sequence[str],
    processors: int,
) -> dict[str, Any]:
    """Keyword arguments of `DockerClient.containers.create`.

    The memory limit of the cgroup counts files in memory as well, so it is the sum of what
    processes and files may take: the watcher keeps processes to `limits.memory_mb`, as in the
    other back ends, and the cgroup is the wall behind it.

    Args:
        view: What the container shows.
        limits: Those of the job.
        binds: Shown beside what `view` shows.
        labels: Labels of the container.
        gpus: Ids of the GPUs that it is given.
        processors: Those of the machine.
    """
    from docker.types import DeviceRequest, LogConfig, Mount

    memory = f"{limits.memory_mb + limits.scratch_mb + _OWN_MEMORY_MB}m"
    request = DeviceRequest(device_ids=list(gpus), capabilities=[["gpu"]])
    guest = [view.python, "-I", "-S", f"{view.guest}/__main__.py", "container"]
    mounts = [*view.binds, *binds]
    return {
        "image": view.image,
        "entrypoint": [*guest, f"{MEETING_PLACE}/{SOCKET}"],
        "command": [],
        "environment": _environment(gpus),
        "labels": dict(labels),
        "mounts": [Mount(inside, here, type="bind", read_only=True) for here, inside in mounts],
        "tmpfs": _file_systems(view, limits),
        "shm_size": f"{limits.scratch_mb}m",
        "mem_limit": memory,
        "memswap_limit": memory,  # equal: no swap
        "nano_cpus": min(limits.threads, processors) * 10**9,
        "pids_limit": process_limit({**vars(limits)}) + 1,  # the watcher
        "ulimits": _ulimits(limits),
        "device_requests": [request] if gpus else [],
        "log_config": LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
        "user": f"{NOBODY}:{NOBODY}",
        "working_dir": "/",
        "hostname": "sandbox",
        **_WALLS,
    }


_WALLS = {
    "network_disabled": True,
    "network_mode": "none",
    "read_only": True,
    "ipc_mode": "private",
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    # The watcher is pid 1, and reaps: the kernel keeps signals of the job from pid 1 only.
    "init": False,
    "auto_remove": False,  # we ask how it ended
    "detach": True,
    "stdin_open": False,
    "tty": False,
}


def _environment(gpus: Sequence[str]) -> dict[str, str]:
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
    if not gpus:
        # Images that ask for all GPUs get them where NVIDIA's runtime is the engine's default.
        settings["NVIDIA_VISIBLE_DEVICES"] = "void"
    return settings


def _file_systems(view: View, limits: Limits) -> dict[str, str]:
    # The job owns them: an engine may give them the mode of the directory in the image.
    options = f"rw,exec,nosuid,nodev,size={limits.scratch_mb}m,uid={NOBODY},gid={NOBODY},mode=755"
    places = [layout.ROOM, *(path for path in view.writable if path != "/dev/shm")]
    covers = dict.fromkeys(view.covers, "ro,nosuid,nodev,size=1m,mode=755")
    return dict.fromkeys(places, options) | covers


def _ulimits(limits: Limits) -> list[Any]:
    from docker.types import Ulimit

    values = {"core": 0, "nofile": OPEN_FILES, "fsize": limits.file_mb << 20}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


@contextmanager
def running(client: DockerClient, described: Mapping[str, Any]) -> Iterator[Container]:
    """A container made with the arguments `described` that runs, and is gone afterwards."""
    container = client.containers.create(**described)
    try:
        container.start()
        yield container
    finally:
        try:
            remove(client, container.id)
        except Exception as error:  # the job's result stands, and the back end's `close` sweeps
            _log.warning("container %s is left behind: %s", container.short_id, error)


def require_alive(container: Container) -> None:
    """Raise if `container` has ended.

    Raises:
        SandboxUnavailableError: With what it wrote before its end.
    """
    container.reload()
    if container.status not in ("created", "running"):
        code = container.attrs["State"]["ExitCode"]
        told = container.logs(tail=20).decode(errors="replace")
        raise SandboxUnavailableError(f"the container ended at once with code {code}: {told}")


def explain(exchange: Exchange, container: Container) -> None:
    """Tell a watcher that died with its job, for want of memory, from one that failed."""
    if not exchange.failure:
        return
    container.reload()
    if container.attrs["State"]["OOMKilled"]:
        report = {"kind": "exit", "cause": "memory", "code": None, "oom_kills": 1}
        exchange.messages.append(({**report, "wall_s": 0.0, "cpu_s": None, "peak_mb": None}, b""))
