"""Rollout buffers that put the loss weights into the advantages.

PPO's clipped objective is positively homogeneous in the advantage: for a weight w >= 0,
min(r wA, clip(r) wA) = w min(r A, clip(r) A). Weighted advantages are therefore exactly a
weighted policy loss, if nobody normalises them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer

from wmrl_gym.correction import normalized_weights
from wmrl_gym.errors import UnsupportedEnvironmentError

_EPSILON = 1e-8


class WeightedRolloutBuffer(RolloutBuffer):
    """A `RolloutBuffer` that normalises its advantages over the rollout and weighs them.

    The value targets stay as they are. The steps of an episode that turns out to be invalid
    have the weight 0, and the value function's own prediction as target: they teach neither.
    """

    weights: NDArray[np.float32]
    """`[buffer_size, n_envs]` loss weight of each step, before normalisation."""

    def reset(self) -> None:
        """Empty the buffer; all weights become 1."""
        super().reset()
        self.weights = np.ones((self.buffer_size, self.n_envs), dtype=np.float32)
        # Row of this rollout at which the current episode of each environment began.
        self._starts = np.zeros(self.n_envs, dtype=np.int64)

    def weigh(self, infos: Sequence[Mapping[str, Any]], dones: NDArray[np.bool_]) -> None:
        """Read the weights of the step that is about to be added.

        Args:
            infos: `[n_envs]`, with `wmrl/weight` (1 if absent) and, at the end of an episode,
                `wmrl/valid` (True if absent).
            dones: `[n_envs]` whether an episode ended with this step.

        Raises:
            UnsupportedEnvironmentError: If a step has a `wmrl/control`.
        """
        for i, info in enumerate(infos):
            if info.get("wmrl/control", 0.0) != 0.0:
                raise UnsupportedEnvironmentError(
                    "fusion='prediction_powered' compares the members of a group, which PPO has "
                    "not: use GRPO, or fusion='inverse_variance'"
                )
            self.weights[self.pos, i] = info.get("wmrl/weight", 1.0)
            if not dones[i]:
                continue
            if not info.get("wmrl/valid", True):
                self.weights[self._starts[i] : self.pos + 1, i] = 0.0
            self._starts[i] = self.pos + 1

    def compute_returns_and_advantage(
        self, last_values: th.Tensor, dones: NDArray[np.bool_]
    ) -> None:
        """Compute returns and advantages, then normalise and weigh the advantages.

        Args:
            last_values: `[n_envs]` values of the observations after the rollout.
            dones: `[n_envs]` whether the last step ended an episode.
        """
        super().compute_returns_and_advantage(last_values, dones)
        unused = self.weights == 0.0
        self.returns[unused] = self.values[unused]
        self.advantages = weighted_normalization(self.advantages, self.weights)


class WeightedDictRolloutBuffer(WeightedRolloutBuffer, DictRolloutBuffer):
    """The same for dict observations."""


def weighted_normalization(
    advantages: NDArray[np.float32], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Normalise by the weighted mean and standard deviation, then multiply by the weights.

    Args:
        advantages: Array of any shape, finite.
        weights: Same shape, at least 0.

    Returns:
        float32, same shape. The weights that it contains have mean 1, so that the size of a
        gradient step does not depend on their scale. With equal weights this is the
        normalisation of stable-baselines3 (sample standard deviation, plus 1e-8), over the
        whole array. All 0 if all weights are.
    """
    if not weights.any():
        return np.zeros_like(advantages)
    w = normalized_weights(weights.ravel()).reshape(weights.shape)
    mean = np.average(advantages, weights=w)
    variance = (w * (advantages - mean) ** 2).sum() / max(w.size - 1, 1)
    normalized = w * (advantages - mean) / (np.sqrt(variance) + _EPSILON)
    return np.asarray(normalized, dtype=np.float32)
