"""Executors that know nothing of a particular environment.

`PooledExecutor` runs real executions side by side and `RayExecutor` on a cluster; both remember
them in an `OutcomeStore`. `AnchoredExecutor` routes executions between a real executor and a
world model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.executors.anchored import AnchoredExecutor
from wmrl_gym.executors.pool import PooledExecutor
from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.executors.storing import ExecutionCounts, StoringExecutor

if TYPE_CHECKING:
    from wmrl_gym.executors.ray import RayExecutor

__all__ = [
    "AnchoredExecutor",
    "ExecutionCounts",
    "OutcomeStore",
    "PooledExecutor",
    "RayExecutor",
    "StoringExecutor",
]


def __getattr__(name: str) -> Any:
    """Import `RayExecutor` when it is first asked for: Ray is optional, and takes a while."""
    if name != "RayExecutor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from wmrl_gym.executors.ray import RayExecutor
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingDependencyError(
            'RayExecutor needs ray, which is not installed: pip install "wmrl-gym[ray]"'
        ) from error
    return RayExecutor


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
