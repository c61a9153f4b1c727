"""What a model has to offer that imagines steps of an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.progress.protocol import RewardModel

__all__ = ["DynamicsModel", "ImaginedStep", "RewardModel"]


@dataclass(frozen=True, eq=False)
class ImaginedStep:
    """What a model says that a batch of B actions leads to."""

    observations: npt.NDArray[np.float32]
    """`[B, D]` float32, after the step."""
    rewards: npt.NDArray[np.float64]
    """`[B]` float64, of the step."""
    success: npt.NDArray[np.float64]
    """`[B]` float64 in [0, 1]: probability that the task is achieved in the next state."""
    uncertainty: npt.NDArray[np.float64]
    """`[B]` float64 >= 0: disagreement of the members; 0 for one member."""
    termination: npt.NDArray[np.float64]
    """`[B]` float64 in [0, 1]: probability that the environment terminates in the next state."""


@runtime_checkable
class DynamicsModel(Protocol):
    """Imagines steps, always for a batch; numpy arrays in and out, whatever runs inside."""

    @property
    def observation_size(self) -> int:
        """D, of the flat observations that it was made for."""
        ...

    @property
    def action_size(self) -> int:
        """A, of the flat actions that it was made for."""
        ...

    def step(
        self, observations: npt.NDArray[np.float32], actions: npt.NDArray[np.float32]
    ) -> ImaginedStep:
        """Imagine one step from each of `[B, D]` observations under `[B, A]` actions."""
        ...

    def learn(self, episodes: Sequence[EpisodeRecord]) -> None:
        """Learn from `[N]` real episodes. Called between batches only."""
        ...

    def ready(self, task: str) -> bool:
        """Whether there is any basis for imagining `task`; if not, its groups run for real."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, as plain picklable data."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        ...
