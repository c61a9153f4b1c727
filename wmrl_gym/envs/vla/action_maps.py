"""From what policies of the field put out to actions of ours: tokens, scales, grippers.

Ours, as LIBERO's: `[..., 7]` in [-1, 1], the gripper last, -1 open and +1 closed. Policies
that were trained on LIBERO's actions by lerobot or openpi put out just that; those of the
OpenVLA family count the gripper from 0 (closed) to 1 (open).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Actions = NDArray[np.float32]

_SIZE = 7


@dataclass(frozen=True, kw_only=True)
class ActionTokens:
    """Actions as tokens: one of `bins` at the tail of a vocabulary, as in OpenVLA and RT-2.

    [-1, 1] is cut by `bins` equally spaced edges; a token stands for the middle between two.
    The higher the value, the lower the token.
    """

    bins: int = 256
    """Number of edges, so one more than there are values."""
    vocabulary_size: int = 32_000
    """Tokens of the language model, without padding; action tokens are its last `bins`."""

    def __post_init__(self) -> None:
        if not 2 <= self.bins <= self.vocabulary_size:
            raise ValueError(
                f"bins={self.bins} must lie in [2, vocabulary_size={self.vocabulary_size}]"
            )

    def decode(self, tokens: ArrayLike, *, chunk: int) -> Actions:
        """Values that tokens stand for.

        Args:
            tokens: `[B, chunk * 7]` ids, action by action.
            chunk: Actions in each row.

        Returns:
            `[B, chunk, 7]` in [-1, 1]; tokens out of range count as the nearest in range.

        Raises:
            ValueError: If the shape does not fit.
        """
        ids = np.asarray(tokens)
        if ids.ndim != 2 or ids.shape[1] != chunk * _SIZE:
            raise ValueError(f"tokens have shape {ids.shape}, not (B, {chunk} * {_SIZE})")
        edges = np.linspace(-1.0, 1.0, self.bins)
        middles = (edges[:-1] + edges[1:]) / 2
        indices = np.clip(self.vocabulary_size - ids - 1, 0, self.bins - 2)
        actions: Actions = middles[indices].astype(np.float32)
        return actions.reshape(len(ids), chunk, _SIZE)

    def encode(self, actions: ArrayLike) -> NDArray[np.int64]:
        """Tokens of actions `[B, chunk, 7]`, as `[B, chunk * 7]`; values are clipped to [-1, 1]."""
        values = np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        edges = np.linspace(-1.0, 1.0, self.bins)
        return (self.vocabulary_size - np.digitize(values, edges)).reshape(len(values), -1)


@dataclass(frozen=True, kw_only=True)
class ActionScale:
    """The range that [-1, 1] stands for in each dimension: quantiles of the training data."""

    low: tuple[float, ...]
    """Seven values, such as the 1 % quantiles."""
    high: tuple[float, ...]
    """Seven values, such as the 99 % quantiles."""
    scaled: tuple[bool, ...] = (True,) * 6 + (False,)
    """Which dimensions are scaled at all; the gripper usually is not."""

    def __post_init__(self) -> None:
        for name in ("low", "high", "scaled"):
            if len(getattr(self, name)) != _SIZE:
                raise ValueError(f"{name}={getattr(self, name)} must have {_SIZE} entries")
        if any(low > high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError(f"low={self.low} must nowhere exceed high={self.high}")

    def apply(self, actions: ArrayLike) -> Actions:
        """Values `[..., 7]` in [-1, 1] on the scale of the data."""
        values = np.asarray(actions, dtype=np.float64)
        low, high = np.asarray(self.low), np.asarray(self.high)
        scaled = low + (values + 1) / 2 * (high - low)
        return np.where(self.scaled, scaled, values).astype(np.float32)


def from_openvla(actions: ArrayLike) -> Actions:
    """Gripper of the OpenVLA family, 0 closed to 1 open, to ours: -1 above one half, else 1.

    Args:
        actions: `[..., 7]`.

    Returns:
        The same shape, clipped to [-1, 1]; a gripper at exactly one half holds still (0).
    """
    ours = _checked(actions).copy()
    ours[..., -1] = -np.sign(2 * ours[..., -1] - 1)
    return np.clip(ours, -1.0, 1.0)


def from_unit_gripper(actions: ArrayLike) -> Actions:
    """Gripper from 0 (open) to 1 (closed) to ours: 1 above one half, else -1.

    Args:
        actions: `[..., 7]`.
    """
    ours = _checked(actions).copy()
    ours[..., -1] = 2.0 * (ours[..., -1] > 0.5) - 1
    return np.clip(ours, -1.0, 1.0)


def from_libero(actions: ArrayLike) -> Actions:
    """Actions of policies trained on LIBERO by lerobot or openpi: ours already; clipped.

    Args:
        actions: `[..., 7]`.
    """
    return np.clip(_checked(actions), -1.0, 1.0)


def _checked(actions: ArrayLike) -> Actions:
    values = np.asarray(actions, dtype=np.float32)
    if values.shape[-1:] != (_SIZE,):
        raise ValueError(f"actions have shape {values.shape}: the last axis must be {_SIZE} long")
    return values
