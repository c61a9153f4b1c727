"""Continuous actions as tokens: one of a few bins for every number."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from wmrl_gym.errors import UnsupportedEnvironmentError


class ActionBins(gym.ActionWrapper[Any, NDArray[np.int64], NDArray[Any]], RecordConstructorArgs):
    """Lets a policy choose each number of a `Box` among `bins` equally spaced values.

    The ends are among the values, and so is the middle if `bins` is odd, so that a policy can
    hold still. A chunk `[size, n]` becomes `size * n` tokens, action by action.

    Args:
        env: An environment with a bounded `Box` of actions.
        bins: Values for each number, at least 2.

    Raises:
        UnsupportedEnvironmentError: If the actions are not a bounded `Box`.
        ValueError: If `bins` is below 2.

    Examples:
        >>> env = ActionBins(gym.make("Pendulum-v1"), bins=5)
        >>> env.action([4]), env.encode([0.9])
        (array([2.], dtype=float32), array([3]))
    """

    def __init__(self, env: gym.Env[Any, Any], *, bins: int = 33) -> None:
        box = env.action_space
        if not isinstance(box, spaces.Box) or not box.is_bounded():
            raise UnsupportedEnvironmentError(
                f"env={env} has actions {box}: bins need a bounded Box"
            )
        if bins < 2:
            raise ValueError(f"bins={bins} must be at least 2")
        RecordConstructorArgs.__init__(self, bins=bins)
        gym.ActionWrapper.__init__(self, env)
        self.bins = bins
        self._box = box
        self.action_space = spaces.MultiDiscrete(np.full(int(np.prod(box.shape)), bins))

    def action(self, action: ArrayLike) -> NDArray[Any]:
        """The values that `[n]` tokens stand for, in the shape of the `Box`."""
        box = self._box
        tokens = np.asarray(action).reshape(box.shape)
        return values_of(tokens, self.bins, low=box.low, high=box.high).astype(box.dtype)

    def encode(self, values: ArrayLike) -> NDArray[np.int64]:
        """The `[n]` tokens nearest to values in the shape of the `Box`; outside it, its ends'."""
        box = self._box
        clipped = np.clip(np.asarray(values, dtype=np.float64), box.low, box.high)
        share = (clipped - box.low) / (box.high.astype(np.float64) - box.low)
        tokens: NDArray[np.int64] = np.rint(share * (self.bins - 1)).astype(np.int64)
        return tokens.reshape(-1)


def values_of(
    tokens: ArrayLike, bins: int, *, low: ArrayLike, high: ArrayLike
) -> NDArray[np.float64]:
    """The values that tokens stand for, in their shape.

    Args:
        tokens: Integers from 0 to `bins - 1`.
        bins: Number of values between `low` and `high`, both included.
        low: Value of token 0.
        high: Value of the last token.
    """
    share = np.asarray(tokens, dtype=np.float64) / (bins - 1)
    lowest = np.asarray(low, dtype=np.float64)
    values: NDArray[np.float64] = lowest + share * (np.asarray(high, np.float64) - lowest)
    return values
