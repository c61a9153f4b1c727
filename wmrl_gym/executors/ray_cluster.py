"""The way to a Ray cluster, and the room that it has."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

import ray
from ray._private.services import canonicalize_bootstrap_address

from wmrl_gym.errors import ClusterError

_KNOCK_S = 10.0
_MEND = (
    "Start a cluster by `ray start --head` and give its host:port, or 'auto' for the one of this "
    "machine, or no address to start Ray here and now."
)


def connect(address: str | None) -> bool:
    """Connect this process to a cluster, unless it is connected to one.

    Args:
        address: "host:port"; "auto" for the cluster of this machine; "local" to start one;
            `None` to start one if there is none.

    Returns:
        Whether it was not connected before.

    Raises:
        ClusterError: If no cluster can be reached or started.
    """
    if ray.is_initialized():
        return False
    try:
        # What workers print belongs into their logs, not on the terminal of the user.
        ray.init(_reachable(address), log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise ClusterError(f"address={address!r}: no Ray cluster: {error}. {_MEND}") from error
    return True


def room(demand: Mapping[str, float]) -> int:
    """How many executions the nodes that are up can carry out at once.

    Args:
        demand: What one execution needs of each resource, by Ray's names for them.
    """
    nodes = ray.nodes()  # type: ignore[no-untyped-call]  # Ray's gap
    fits: list[int] = [_fits(node["Resources"], demand) for node in nodes if node["Alive"]]
    return sum(fits)


def _fits(resources: Mapping[str, float], demand: Mapping[str, float]) -> int:
    # 1 // 0.1 is 9, hence the little more.
    return min(int(resources.get(name, 0) / part + 1e-9) for name, part in demand.items() if part)


def _reachable(address: str | None) -> str:
    """The address as `ray.init` takes it, of a cluster that answers.

    Where none does, Ray would keep trying for more than five minutes.
    """
    found = canonicalize_bootstrap_address(address)  # type: ignore[arg-type]  # it takes None
    if found is None:
        return "local"
    if not _answers(found):
        if address is None and not os.environ.get("RAY_ADDRESS"):
            return "local"  # a cluster that died has left its address behind
        raise ConnectionError(f"nothing answers at {found}")
    return str(found)


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()
    except OSError:
        return False
    return True
