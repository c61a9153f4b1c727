"""Units in which a network sees states, and the range that imagined states stay in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch

from wmrl_gym.episodes import EpisodeRecord

_STILL = 1e-6
"""Spread below which a dimension is constant: rounding, not movement."""
_OUTGROWN = 2.0
"""How much a spread may grow or shrink before the units no longer fit."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Statistics of the training data, each `[D]`, `[A]` or a scalar, float32.

    A dimension without spread, such as a padded slot, has the inverse spread 0: the network
    sees 0 there. Divided by its spread of nearly 0 it would make imagined states explode.
    """

    mean: torch.Tensor
    inverse: torch.Tensor
    """`[D]` 1 / standard deviation; 0 for dimensions that are constant."""
    low: torch.Tensor
    high: torch.Tensor
    step: torch.Tensor
    """`[D]` root mean square of the change in a step; 0 for those that no step changes (a goal)."""
    action_mean: torch.Tensor
    action_inverse: torch.Tensor
    reward_mean: torch.Tensor
    reward_spread: torch.Tensor
    gain_mean: torch.Tensor
    """Of the return of an episode up to each state, as is the next."""
    gain_spread: torch.Tensor
    log_odds: torch.Tensor
    """`[2]` added to the logits of success, 0, and of termination, those of its share of the steps.

    Both are learned as if half of all states were one. To rank episodes by success that is as
    good as any, and nearer to the truth where success is plain to see, so its odds stay even once
    one was seen; but an imagined episode should end only where a real one is more likely to end
    than not, and without any success to learn from none should be imagined.
    """

    @classmethod
    def of(cls, episodes: Sequence[EpisodeRecord]) -> Scaling:
        """Measure `[N]` episodes, N >= 1."""
        states = torch.cat([torch.from_numpy(e.observations) for e in episodes])
        steps = torch.cat([torch.from_numpy(e.observations).diff(dim=0) for e in episodes])
        actions = torch.cat([torch.from_numpy(e.actions) for e in episodes])
        rewards = torch.cat([torch.from_numpy(e.rewards) for e in episodes]).float()
        terminations = torch.cat([torch.from_numpy(e.terminations) for e in episodes]).float()
        gains = torch.cat([torch.from_numpy(e.rewards).cumsum(dim=0) for e in episodes]).float()
        share = terminations.mean().clamp(_STILL, 1.0 - _STILL)
        achieved = any(episode.success_once for episode in episodes)
        success = torch.tensor(0.5 if achieved else _STILL)
        low, high = states.amin(0), states.amax(0)
        still = steps.abs().amax(0) <= _STILL * (high - low).clamp(min=1.0)
        return cls(
            mean=states.mean(0),
            inverse=_inverse_spread(states),
            low=low,
            high=high,
            step=torch.where(still, 0.0, steps.square().mean(0).sqrt()),
            action_mean=actions.mean(0),
            action_inverse=_inverse_spread(actions),
            reward_mean=rewards.mean(),
            reward_spread=rewards.std(correction=0).clamp(min=_STILL),
            gain_mean=gains.mean(),
            gain_spread=gains.std(correction=0).clamp(min=_STILL),
            log_odds=torch.stack([success, share]).logit(),
        )

    @cached_property
    def moving(self) -> torch.Tensor:
        """`[D]` bool: dimensions that steps change."""
        return self.step > 0.0

    def scale(self, states: torch.Tensor) -> torch.Tensor:
        """`[..., D]` states in the units of the network."""
        return (states - self.mean) * self.inverse

    def scale_actions(self, actions: torch.Tensor) -> torch.Tensor:
        """`[..., A]` actions in the units of the network."""
        return (actions - self.action_mean) * self.action_inverse

    def clamp(self, states: torch.Tensor) -> torch.Tensor:
        """Keep `[..., D]` states within the data's range where steps change them at all."""
        clamped = torch.minimum(torch.maximum(states, self.low), self.high)
        return torch.where(self.moving, clamped, states)

    def widened(self, newer: Scaling) -> Scaling:
        """The same units with the range of both, and the odds of the newer."""
        values = {name: getattr(self, name) for name in _NAMES}
        low, high = (
            torch.minimum(self.low, newer.low),
            torch.maximum(self.high, newer.high),
        )
        return Scaling(**{**values, "low": low, "high": high, "log_odds": newer.log_odds})

    def outgrown_by(self, newer: Scaling) -> bool:
        """Whether newer data have other moving or constant dimensions, or other spreads."""
        for mine, theirs in ((self.inverse, newer.inverse), (self.step, newer.step)):
            if not torch.equal(mine > 0.0, theirs > 0.0):
                return True
            ratio = (mine / theirs)[mine > 0.0]
            if ((ratio > _OUTGROWN) | (ratio < 1.0 / _OUTGROWN)).any():
                return True
        return False

    def to(self, device: str | torch.device) -> Scaling:
        """The same on `device`."""
        return Scaling(**{name: getattr(self, name).to(device) for name in _NAMES})

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The statistics by name."""
        return {name: getattr(self, name).cpu() for name in _NAMES}

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> Scaling:
        """What `state_dict` described."""
        return cls(**{name: state[name] for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Scaling))


def _inverse_spread(values: torch.Tensor) -> torch.Tensor:
    spread = values.std(dim=0, correction=0)
    constant = values.amax(0) - values.amin(0) <= _STILL * values.abs().amax(0).clamp(min=1.0)
    return torch.where(constant, 0.0, 1.0 / spread.clamp(min=torch.finfo(torch.float32).tiny))
