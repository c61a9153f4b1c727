"""Agents on stable-baselines3 that use the anchors, and the bridge to vector environments.

The names are imported on first use, so that `wmrl_gym` does not need torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import MissingDependencyError

if TYPE_CHECKING:
    from wmrl_gym.agents.bridge import VectorEnvBridge
    from wmrl_gym.agents.grpo import GRPO
    from wmrl_gym.agents.weighted_ppo import WeightedPPO

__all__ = ["GRPO", "VectorEnvBridge", "WeightedPPO"]

_MODULES = {
    "GRPO": "wmrl_gym.agents.grpo",
    "VectorEnvBridge": "wmrl_gym.agents.bridge",
    "WeightedPPO": "wmrl_gym.agents.weighted_ppo",
}
_OPTIONAL = ("stable_baselines3", "torch")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OPTIONAL:
            raise
        raise MissingDependencyError(
            f'{name} needs {error.name}, which is not installed: pip install "wmrl-gym[sb3]"'
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
