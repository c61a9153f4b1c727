"""Dynamics models: they imagine steps of an environment that only has `step`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.world_models.dynamics.imagination import ImaginedRollout, imagine, replay
from wmrl_gym.world_models.dynamics.protocol import DynamicsModel, ImaginedStep
from wmrl_gym.world_models.dynamics.spaces import require_fit
from wmrl_gym.world_models.dynamics.validity import (
    Interval,
    Validity,
    score_concordance,
    skill_correlation,
    success_auc,
)

if TYPE_CHECKING:
    from wmrl_gym.world_models.dynamics.ensemble import EnsembleDynamics

__all__ = [
    "DynamicsModel",
    "EnsembleDynamics",
    "ImaginedRollout",
    "ImaginedStep",
    "Interval",
    "Validity",
    "imagine",
    "replay",
    "require_fit",
    "score_concordance",
    "skill_correlation",
    "success_auc",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for."""
    if name != "EnsembleDynamics":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wmrl_gym.errors import MissingDependencyError

    try:
        ensemble = import_module("wmrl_gym.world_models.dynamics.ensemble")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingDependencyError(
            'EnsembleDynamics needs torch: pip install "wmrl-gym[vla]"'
        ) from error
    return ensemble.EnsembleDynamics
