"""Imagined rollouts: whole batches of episodes that only a model takes part in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wmrl_gym.world_models.dynamics.protocol import DynamicsModel

FloatArray = npt.NDArray[np.float64]
States = npt.NDArray[np.float32]
Policy = Callable[[States], npt.ArrayLike]
"""Takes `[B, D]` observations and gives `[B, A]` actions."""
LIKELY_OVER = 0.5
"""Probability of having terminated, in the last step or before, from which an imagined episode is
over. Single steps need not be likely ends: real episodes end somewhere among many that may be."""


@dataclass(frozen=True, eq=False)
class ImaginedRollout:
    """B imagined episodes of at most H steps; whatever `mask` leaves out is 0."""

    observations: States
    """`[B, H + 1, D]` float32; the last one is repeated when an episode is over."""
    actions: npt.NDArray[np.float32]
    """`[B, H, A]` float32."""
    rewards: FloatArray
    """`[B, H]`."""
    success: FloatArray
    """`[B, H]` probability that the task is achieved after the step."""
    uncertainty: FloatArray
    """`[B, H]` disagreement of the members in the step."""
    mask: npt.NDArray[np.bool_]
    """`[B, H]` steps that were taken, up to the predicted termination and with it."""
    surviving: FloatArray
    """`[B]` probability that no step taken has terminated the episode."""
    terminated: npt.NDArray[np.bool_]
    """`[B]` whether the model predicted a termination."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """`[B]` steps taken."""
        lengths: npt.NDArray[np.int64] = self.mask.sum(axis=1)
        return lengths

    @property
    def scores(self) -> FloatArray:
        """`[B]` highest probability of success on the way: that of `success_once`."""
        scores: FloatArray = self.success.max(axis=1, initial=0.0)
        return scores

    @property
    def returns(self) -> FloatArray:
        """`[B]` sums of the rewards."""
        returns: FloatArray = self.rewards.sum(axis=1)
        return returns


def imagine(
    model: DynamicsModel,
    starts: npt.ArrayLike,
    actions: npt.ArrayLike | Policy,
    *,
    horizon: int | None = None,
    lengths: npt.ArrayLike | None = None,
    threshold: float = LIKELY_OVER,
) -> ImaginedRollout:
    """Imagine episodes; each step is one call of the model for all that still run.

    Args:
        model: The model.
        starts: `[B, D]` observations to start from.
        actions: `[B, H, A]` what to do, or a policy that is asked for the episodes that still
            run.
        horizon: H; needed for a policy, otherwise that of the actions.
        lengths: `[B]` after how many steps each episode ends at the latest; H by default.
        threshold: Probability of having terminated, in the last step or before, from which an
            episode is over.

    Raises:
        ValueError: If the shapes do not fit, or there is no horizon.
    """
    starts = np.asarray(starts, dtype=np.float32)
    if callable(actions):
        if horizon is None:
            raise ValueError("horizon=None: a policy needs to know how many steps to take")
        steps, policy = horizon, actions
    else:
        given = _checked(actions, starts, horizon)
        steps, policy = given.shape[1], None
    rollout = _empty(starts, steps, model.action_size)
    last = np.full(len(starts), steps) if lengths is None else np.asarray(lengths)
    for index in range(steps):
        rollout.observations[:, index + 1] = rollout.observations[:, index]
        live = np.flatnonzero(~rollout.terminated & (index < last))
        if len(live):
            now = rollout.observations[live, index]
            chosen = given[live, index] if policy is None else policy(now)
            _advance(rollout, model, live, index, np.asarray(chosen, np.float32), threshold)
    return rollout


def replay(
    model: DynamicsModel,
    starts: npt.ArrayLike,
    actions: Sequence[npt.NDArray[np.float32]],
    *,
    threshold: float = LIKELY_OVER,
) -> ImaginedRollout:
    """Imagine what B recorded sequences of actions lead to, in one batch.

    Args:
        model: The model.
        starts: `[B, D]` observations to start from.
        actions: B arrays `[T_i, A]` of any length.
        threshold: See `imagine`.
    """
    lengths = np.array([len(sequence) for sequence in actions], dtype=np.int64)
    padded = np.zeros((len(actions), lengths.max(initial=0), model.action_size), np.float32)
    for row, sequence in zip(padded, actions, strict=True):
        row[: len(sequence)] = sequence
    return imagine(model, starts, padded, lengths=lengths, threshold=threshold)


def _checked(
    actions: npt.ArrayLike, starts: States, horizon: int | None
) -> npt.NDArray[np.float32]:
    """`[B, H, A]` float32 actions, of the first `horizon` steps."""
    given = np.asarray(actions, dtype=np.float32)
    if given.ndim != 3 or len(given) != len(starts):
        raise ValueError(
            f"actions have the shape {given.shape}; {len(starts)} starts need [{len(starts)}, H, A]"
        )
    if horizon is not None and horizon > given.shape[1]:
        raise ValueError(f"horizon={horizon} exceeds the {given.shape[1]} actions given")
    return given[:, :horizon]


def _advance(
    rollout: ImaginedRollout,
    model: DynamicsModel,
    live: npt.NDArray[np.int64],
    index: int,
    actions: npt.NDArray[np.float32],
    threshold: float,
) -> None:
    """Write step `index` of the episodes `live` into `rollout`."""
    step = model.step(rollout.observations[live, index], actions)
    rollout.actions[live, index] = actions
    rollout.observations[live, index + 1] = step.observations
    rollout.rewards[live, index] = step.rewards
    rollout.success[live, index] = step.success
    rollout.uncertainty[live, index] = step.uncertainty
    rollout.mask[live, index] = True
    rollout.surviving[live] *= 1.0 - step.termination
    rollout.terminated[live] = 1.0 - rollout.surviving[live] >= threshold


def _empty(starts: States, steps: int, action_size: int) -> ImaginedRollout:
    batch = len(starts)
    observations = np.zeros((batch, steps + 1, starts.shape[-1]), np.float32)
    observations[:, 0] = starts
    return ImaginedRollout(
        observations=observations,
        actions=np.zeros((batch, steps, action_size), np.float32),
        rewards=np.zeros((batch, steps)),
        success=np.zeros((batch, steps)),
        uncertainty=np.zeros((batch, steps)),
        mask=np.zeros((batch, steps), dtype=np.bool_),
        surviving=np.ones(batch),
        terminated=np.zeros(batch, dtype=np.bool_),
    )
