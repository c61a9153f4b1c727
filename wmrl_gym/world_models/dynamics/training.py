"""Training of the members: how states move, what they mean, and how much they tell is gained.

A network that is trained on single steps is right about each and wrong about where they
lead: its errors feed on themselves. So each member rolls its own states forward for a chunk
of steps, and every step of the way is compared with what really happened. What a state means
and tells needs no rollouts, which are what costs: it is learned from single states, far more of
them in the same time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch.nn import functional

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork, MemberMLP
from wmrl_gym.world_models.dynamics.scaling import Scaling
from wmrl_gym.world_models.dynamics.states import States, StateSampler
from wmrl_gym.world_models.dynamics.windows import Windows, WindowSampler

B = TypeVar("B")

_RARE = 100.0
"""Most that a success may weigh against a failure."""
_HELD_OUT_WINDOWS = 512
_HELD_OUT_STATES = 4096
_STATES = 256
"""States of each member in a gradient step on single states."""
_STATE_UPDATES = 3
"""Gradient steps on states for each on rollouts; together they take about as long."""
_THRIFT = 0.003
"""Price of the weights that leave an input of the parts that judge states (a group lasso: Yuan and
Lin 2006): most numbers of a state say nothing of the task, and would be learned by heart."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How long and how fast to train."""

    updates: int
    """Most gradient steps on rollouts."""
    batch_size: int
    """Windows of each member in such a step."""
    chunk: int
    """Steps of a window."""
    learning_rate: float
    """At the start; it falls to 0 along a half cosine."""
    looks: int = 10
    """How often, at least, the held-out episodes are looked at, in even distances."""
    patience: int = 8
    """Looks without improvement after which training stops."""


def train_motion(
    network: DynamicsNetwork,
    scaling: Scaling,
    training: Sequence[EpisodeRecord],
    held_out: Sequence[EpisodeRecord],
    plan: TrainingPlan,
    rng: np.random.Generator,
) -> float:
    """Train how `network` moves states, in place; it ends as it was when it was at its best.

    Args:
        network: The members; their present weights are where training starts.
        scaling: The units, on the network's device.
        training: `[N]` episodes to learn from; each member draws its own windows.
        held_out: Episodes to stop by; without any, all updates are used up.
        plan: How long and how fast.
        rng: Draws the windows.

    Returns:
        The lowest held-out loss, or NaN without held-out episodes.
    """
    device, members = str(scaling.mean.device), network.members
    windows = WindowSampler(training, plan.chunk, device)
    seen = None
    if held_out:
        sampler = WindowSampler(held_out, plan.chunk, device)
        seen = sampler.every(_HELD_OUT_WINDOWS, members)
    return _descend(
        network.motion,
        lambda batch: rollout_loss(network, scaling, batch),
        lambda: windows.draw((members, plan.batch_size), rng),
        seen,
        plan.updates,
        plan,
        thrift=0.0,
    )


def train_judgement(
    network: DynamicsNetwork,
    scaling: Scaling,
    training: Sequence[EpisodeRecord],
    held_out: Sequence[EpisodeRecord],
    plan: TrainingPlan,
    rng: np.random.Generator,
) -> None:
    """Train what `network` says of states, in place; see `train_motion` for the arguments."""
    device, shape = str(scaling.mean.device), (network.members, _STATES)
    states = StateSampler(training, device)
    seen = StateSampler(held_out, device).every(_HELD_OUT_STATES) if held_out else None
    _descend(
        network.meaning,
        lambda batch: meaning_loss(network, scaling, batch),
        lambda: states.draw_meanings(shape, rng),
        seen,
        _STATE_UPDATES * plan.updates,
        plan,
        thrift=_THRIFT,
    )
    _descend(
        network.gain,
        lambda batch: gain_loss(network, scaling, batch),
        lambda: states.draw(shape, rng),
        seen,
        _STATE_UPDATES * plan.updates,
        plan,
        thrift=_THRIFT,
    )


def _descend(
    part: MemberMLP,
    loss: Callable[[B], torch.Tensor],
    draw: Callable[[], B],
    held_out: B | None,
    updates: int,
    plan: TrainingPlan,
    *,
    thrift: float,
) -> float:
    """Gradient steps on one part, which ends at its best; return the lowest held-out loss.

    Args:
        part: What is trained.
        loss: `[M]` losses of a batch.
        draw: Draws a batch.
        held_out: A batch to stop by, if any.
        updates: Most gradient steps.
        plan: How fast, and when to stop.
        thrift: Price of the weights that leave an input.
    """
    optimizer = torch.optim.AdamW(
        part.parameters(), lr=plan.learning_rate, weight_decay=1e-5, fused=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
    best = _Best(part, loss, held_out)
    for update in range(1, updates + 1):
        optimizer.zero_grad()
        torch.autograd.backward(loss(draw()).sum() + thrift * part.input_norms())
        torch.nn.utils.clip_grad_norm_(part.parameters(), 10.0)
        optimizer.step()
        schedule.step()
        if update % max(updates // plan.looks, 1) == 0 and best.look() >= plan.patience:
            break
    return best.restore()


def rollout_loss(network: DynamicsNetwork, scaling: Scaling, windows: Windows) -> torch.Tensor:
    """The loss of imagined stretches, `[M]`.

    States are compared in units of what one step changes, by Huber's loss, since contacts
    give rare large changes.

    Args:
        network: The members.
        scaling: The units.
        windows: `[M, B]` windows, those of each member.
    """
    state, states, rewards = windows.states[..., 0, :], [], []
    for index in range(windows.actions.shape[-2]):
        step = network.step(state, windows.actions[..., index, :], scaling)
        state = scaling.clamp(step.states)
        states.append(step.states)
        rewards.append(step.rewards)
    motion = _motion_loss(torch.stack(states, dim=-2), windows.states[..., 1:, :], scaling)
    true_rewards = (windows.rewards - scaling.reward_mean) / scaling.reward_spread
    error = torch.stack(rewards, dim=-1) - true_rewards
    reward = functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    mask = windows.mask
    loss: torch.Tensor = ((motion + reward) * mask).sum(dim=(1, 2)) / mask.sum(dim=(1, 2))
    return loss


def _motion_loss(imagined: torch.Tensor, real: torch.Tensor, scaling: Scaling) -> torch.Tensor:
    """`[..., D]` states -> `[...]`, the mean over the dimensions that move."""
    moving = scaling.moving.nonzero()[:, 0]
    error = (imagined[..., moving] - real[..., moving]) / scaling.step[moving]
    loss = functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    return loss.sum(dim=-1) / max(len(moving), 1)


def gain_loss(network: DynamicsNetwork, scaling: Scaling, batch: States) -> torch.Tensor:
    """`[M]` mean square error of the returns so far, in units of their spread."""
    gains = network.gained(batch.states, scaling)
    return ((gains - batch.gains) / scaling.gain_spread).square().mean(dim=1)


def meaning_loss(network: DynamicsNetwork, scaling: Scaling, batch: States) -> torch.Tensor:
    """`[M]` mean cross entropy of success and of termination, see `balanced_loss`."""
    return balanced_loss(network.judge(batch.states, scaling), batch.meanings)


def balanced_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy in which successes weigh as much as failures, however rare they are.

    Args:
        logits: `[M, N, K]`.
        labels: `[M, N, K]` 0 or 1, or `[1, N, K]` for all members alike.

    Returns:
        `[M]` mean loss, summed over the K questions.
    """
    labels = labels.expand_as(logits)
    positives = labels.sum(dim=1, keepdim=True)
    negatives = labels.shape[1] - positives
    weight = (negatives / positives.clamp(min=1.0)).clamp(1.0 / _RARE, _RARE)
    weights = torch.where(labels > 0.5, weight, 1.0)
    entropy = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return ((entropy * weights).sum(dim=1) / weights.sum(dim=1)).sum(dim=-1)


class _Best(Generic[B]):
    """The weights of a part when its held-out loss was lowest so far."""

    def __init__(
        self, part: MemberMLP, loss: Callable[[B], torch.Tensor], held_out: B | None
    ) -> None:
        self.part, self.held_out, self.judge = part, held_out, loss
        self.loss, self.weights, self.looks_since = np.inf, part.state_dict(), 0
        self.look()

    def look(self) -> int:
        """Judge the present weights; return the looks since they were at their best."""
        if self.held_out is None:
            return 0
        with torch.no_grad():
            loss = float(self.judge(self.held_out).sum())
        self.looks_since += 1
        if loss < self.loss:
            self.loss, self.looks_since = loss, 0
            self.weights = copy.deepcopy(self.part.state_dict())
        return self.looks_since

    def restore(self) -> float:
        """Go back to the best weights; return their loss, or NaN if nothing was held out."""
        if self.held_out is None:
            return np.nan
        self.part.load_state_dict(self.weights)
        return self.loss
