"""Gymnasium environments whose expensive rewards a world model predicts and anchors correct.

Importing this package registers the ids. The names below are imported when they are first
used, since scikit-learn behind them takes longer to import than all the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.outcomes import Execution, Executor, Outcome, Source, Status, WorldModel
from wmrl_gym.registration import register_environments

if TYPE_CHECKING:
    from wmrl_gym.envs.execution_env import ExecutionEnv
    from wmrl_gym.executors import PooledExecutor
    from wmrl_gym.world_models import register_world_model
    from wmrl_gym.wrappers import (
        BatchedExecution,
        WorldModelRewardVectorWrapper,
        WorldModelRewardWrapper,
    )

__version__ = "0.1.0"

_LAZY = {
    "BatchedExecution": "wmrl_gym.wrappers",
    "ExecutionEnv": "wmrl_gym.envs.execution_env",
    "PooledExecutor": "wmrl_gym.executors",
    "WorldModelRewardVectorWrapper": "wmrl_gym.wrappers",
    "WorldModelRewardWrapper": "wmrl_gym.wrappers",
    "register_world_model": "wmrl_gym.world_models",
}

__all__ = [
    "BatchedExecution",
    "Execution",
    "ExecutionEnv",
    "Executor",
    "Outcome",
    "PooledExecutor",
    "Source",
    "Status",
    "WorldModel",
    "WorldModelRewardVectorWrapper",
    "WorldModelRewardWrapper",
    "register_world_model",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    """List the lazy names too."""
    return sorted({*globals(), *__all__})


register_environments()
