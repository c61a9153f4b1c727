"""A model of the dynamics that is trained in no time, named by an entry point."""

from __future__ import annotations

from wmrl_gym.envs.vla.actions import ACTION_SIZE
from wmrl_gym.envs.vla.observation import OBSERVATION_SIZE
from wmrl_gym.world_models.dynamics import EnsembleDynamics


def small_dynamics() -> EnsembleDynamics:
    """For the state-based manipulation environment."""
    return EnsembleDynamics(
        OBSERVATION_SIZE, ACTION_SIZE, members=2, hidden=16, updates=20, online_updates=5
    )
