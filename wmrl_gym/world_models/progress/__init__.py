"""Reward models: they score real rollouts from frames or states."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.world_models.progress.prediction import FrameRewardModel, ProgressPrediction
from wmrl_gym.world_models.progress.protocol import RewardModel

if TYPE_CHECKING:
    from wmrl_gym.world_models.progress.model import ProgressModel

__all__ = ["FrameRewardModel", "ProgressModel", "ProgressPrediction", "RewardModel"]


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for."""
    if name != "ProgressModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wmrl_gym.errors import MissingDependencyError

    try:
        model = import_module("wmrl_gym.world_models.progress.model")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingDependencyError(
            'ProgressModel needs torch: pip install "wmrl-gym[vla]"'
        ) from error
    return model.ProgressModel
