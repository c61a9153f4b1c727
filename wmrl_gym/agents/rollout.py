"""The transitions of one batch of groups, and what is known of its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th
from numpy.typing import NDArray

from wmrl_gym.agents.groups import IDLE

Observations = th.Tensor | dict[str, th.Tensor]


@dataclass(frozen=True)
class GroupBatch:
    """`N` transitions of `E` complete episodes."""

    observations: Observations
    """`[N, ...]`, or a dict of such tensors."""
    actions: th.Tensor
    """`[N, ...]` as the policy gave them, before clipping to the action space."""
    log_probs: th.Tensor
    """`[N]` float32, log-probability of the action under the policy that took it."""
    episodes: th.Tensor
    """`[N]` int64, index of the episode that the transition belongs to."""
    scores: NDArray[np.float64]
    """`[E]` sum of the rewards of each episode."""
    lengths: NDArray[np.int64]
    """`[E]` steps of each episode."""
    groups: NDArray[np.int64]
    """`[E]` id of the group of each episode."""
    weights: NDArray[np.float64]
    """`[E]` `wmrl/weight` of the last step of each episode, 1 where there is none."""
    valid: NDArray[np.bool_]
    """`[E]` `wmrl/valid` of the last step of each episode, True where there is none."""
    calibrated: NDArray[np.float64]
    """`[E]` `wmrl/score_calibrated` of the last step of each episode, NaN where there is none."""
    controls: NDArray[np.float64]
    """`[E]` `wmrl/control`: what the advantage of `calibrated` counts; 0 where there is none."""


class GroupRollout:
    """Collects the transitions of a batch; drops those of slots without an episode.

    Args:
        groups: `[E]` int64, the group of each episode of the batch.
    """

    def __init__(self, groups: NDArray[np.int64]) -> None:
        count = len(groups)
        self.groups = groups
        self.scores = np.zeros(count, dtype=np.float64)
        self.lengths = np.zeros(count, dtype=np.int64)
        self.weights = np.ones(count, dtype=np.float64)
        self.valid = np.ones(count, dtype=np.bool_)
        self.calibrated = np.full(count, np.nan)
        self.controls = np.zeros(count, dtype=np.float64)
        self._finished = 0
        self._steps: list[tuple[Observations, th.Tensor, th.Tensor, th.Tensor]] = []

    @property
    def complete(self) -> bool:
        """Whether every episode of the batch has ended."""
        return self._finished == len(self.groups)

    def add(
        self,
        observations: Observations,
        actions: th.Tensor,
        log_probs: th.Tensor,
        episode: NDArray[np.int64],
        rewards: NDArray[np.float32],
    ) -> None:
        """Add one step of all slots.

        Args:
            observations: `[num_slots, ...]` what the policy acted on.
            actions: `[num_slots, ...]` what it did.
            log_probs: `[num_slots]` its log-probabilities.
            episode: `[num_slots]` the episode of each slot, or `IDLE`.
            rewards: `[num_slots]` finite rewards.
        """
        live = np.flatnonzero(episode != IDLE)
        self.scores[episode[live]] += rewards[live]
        self.lengths[episode[live]] += 1
        rows = th.as_tensor(live, device=log_probs.device)
        index = th.as_tensor(episode[live], device=log_probs.device)
        self._steps.append((take(observations, rows), actions[rows], log_probs[rows], index))

    def finish(self, episode: int, info: Mapping[str, Any]) -> None:
        """Note how an episode ended, from the info of its last step."""
        self.weights[episode] = info.get("wmrl/weight", 1.0)
        self.valid[episode] = info.get("wmrl/valid", True)
        self.calibrated[episode] = info.get("wmrl/score_calibrated", np.nan)
        self.controls[episode] = info.get("wmrl/control", 0.0)
        self._finished += 1

    def batch(self) -> GroupBatch:
        """All that was added, as flat tensors."""
        observations, actions, log_probs, episodes = zip(*self._steps, strict=True)
        return GroupBatch(
            observations=_concatenate(observations),
            actions=th.cat(actions),
            log_probs=th.cat(log_probs),
            episodes=th.cat(episodes),
            scores=self.scores,
            lengths=self.lengths,
            groups=self.groups,
            weights=self.weights,
            valid=self.valid,
            calibrated=self.calibrated,
            controls=self.controls,
        )


def take(observations: Observations, rows: th.Tensor) -> Observations:
    """The chosen rows of observations, dict or not."""
    if isinstance(observations, dict):
        return {key: value[rows] for key, value in observations.items()}
    return observations[rows]


def _concatenate(parts: tuple[Any, ...]) -> Observations:
    if isinstance(parts[0], dict):
        return {key: th.cat([part[key] for part in parts]) for key in parts[0]}
    return th.cat(parts)
