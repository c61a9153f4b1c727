"""Training of the members on imagined stretches, as long as those that a policy will use.

A network that is trained on single steps is right about each and wrong about where they
lead: its errors feed on themselves. So each member rolls its own states forward for a chunk
of steps, and every step of the way is compared with what really happened.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.scaling import Scaling
from wmrl_gym.world_models.dynamics.windows import Windows, WindowSampler

_RARE = 100.0
"""Most that a success may weigh against a failure."""
_HELD_OUT_WINDOWS = 512
_MEANING_PACE = 5.0
"""Learning rate of the smaller part against the larger one's, which is rolled forward."""


class PartLosses(NamedTuple):
    """What is wrong with each part of the networks, summed over the members."""

    motion: torch.Tensor
    meaning: torch.Tensor
    gain: torch.Tensor
    """Of the return so far, judged on real states only: it is not rolled forward."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How long and how fast to train."""

    updates: int
    """Most gradient steps."""
    batch_size: int
    """Windows of each member in a gradient step."""
    learning_rate: float
    """At the start; it falls to 0 along a half cosine."""
    evaluate_every: int = 50
    """Gradient steps between two looks at the held-out episodes."""
    patience: int = 8
    """Looks without improvement after which training stops."""


def train(
    network: DynamicsNetwork,
    scaling: Scaling,
    training: WindowSampler,
    held_out: WindowSampler | None,
    plan: TrainingPlan,
    rng: np.random.Generator,
) -> float:
    """Train `network` in place; it ends as it was when the held-out loss was lowest.

    Args:
        network: The members; their present weights are where training starts.
        scaling: The units, on the network's device.
        training: Episodes to learn from; each member draws its own windows.
        held_out: Whole episodes to stop by, or `None` to use up all updates.
        plan: How long and how fast.
        rng: Draws the windows.

    Returns:
        The lowest held-out loss, or NaN without held-out episodes.
    """
    members = network.motion.weights[0].shape[0]
    groups = [
        {"params": network.motion.parameters(), "lr": plan.learning_rate},
        {
            "params": network.meaning.parameters(),
            "lr": _MEANING_PACE * plan.learning_rate,
        },
        {"params": network.gain.parameters(), "lr": plan.learning_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, plan.updates)
    best = _Best(network, scaling, held_out)
    for update in range(1, plan.updates + 1):
        windows = training.draw((members, plan.batch_size), rng)
        losses = rollout_loss(network, scaling, windows, rng)
        optimizer.zero_grad()
        torch.autograd.backward(losses.motion + losses.meaning + losses.gain)
        for part in network.parts:
            torch.nn.utils.clip_grad_norm_(part.parameters(), 10.0)
        optimizer.step()
        schedule.step()
        if update % plan.evaluate_every == 0 and best.look() >= plan.patience:
            break
    return best.restore()


def rollout_loss(
    network: DynamicsNetwork,
    scaling: Scaling,
    windows: Windows,
    rng: np.random.Generator | None = None,
) -> PartLosses:
    """The losses of imagined stretches, summed over the members.

    States are compared in units of what one step changes, by Huber's loss, since contacts
    give rare large changes. Success and termination are judged on real and on imagined
    states by turns: an imagined success looks a little different from a real one, and it is
    what will be judged.

    Args:
        network: The members.
        scaling: The units.
        windows: `[M, B]` windows, those of each member.
        rng: Decides which of the two states is judged; `None` judges the imagined.
    """
    state, states, rewards, judged = windows.states[..., 0, :], [], [], []
    for index in range(windows.actions.shape[-2]):
        step = network.step(state, windows.actions[..., index, :], scaling)
        state = scaling.clamp(step.states)
        states.append(step.states)
        rewards.append(step.rewards)
        judged.append(state.detach())
    mask = windows.mask
    motion = _motion_loss(torch.stack(states, dim=-2), windows.states[..., 1:, :], scaling)
    true_rewards = (windows.rewards - scaling.reward_mean) / scaling.reward_spread
    reward = functional.smooth_l1_loss(torch.stack(rewards, dim=-1), true_rewards, reduction="none")
    rollout = ((motion + reward) * mask).sum(dim=(1, 2)) / mask.sum(dim=(1, 2))
    following = torch.stack(judged, dim=-2)
    if rng is not None:
        real = torch.from_numpy(rng.random(mask.shape) < 0.5).to(mask.device)
        following = torch.where(real[..., None], windows.states[..., 1:, :], following)
    logits = network.judge(following.flatten(1, 2), scaling)
    meaning = balanced_loss(logits, windows.meanings.flatten(1, 2), mask.flatten(1, 2))
    return PartLosses(rollout.sum(), meaning.sum(), _gain_loss(network, scaling, windows).sum())


def _motion_loss(imagined: torch.Tensor, real: torch.Tensor, scaling: Scaling) -> torch.Tensor:
    """`[..., D]` states -> `[...]`, the mean over the dimensions that move."""
    moving = scaling.moving.nonzero()[:, 0]
    error = (imagined[..., moving] - real[..., moving]) / scaling.step[moving]
    loss = functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    return loss.sum(dim=-1) / max(len(moving), 1)


def _gain_loss(network: DynamicsNetwork, scaling: Scaling, windows: Windows) -> torch.Tensor:
    """`[M]` mean square error of the returns so far, in units of their spread."""
    gains = network.gained(windows.states.flatten(1, 2), scaling).view(windows.gains.shape)
    error = ((gains - windows.gains) / scaling.gain_spread).square()
    # The first state of a window always belongs to its episode.
    mask = functional.pad(windows.mask, (1, 0), value=True)
    return (error * mask).sum(dim=(1, 2)) / mask.sum(dim=(1, 2))


def balanced_loss(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Cross entropy in which successes weigh as much as failures, however rare they are.

    Args:
        logits: `[M, N, K]`.
        labels: `[M, N, K]` 0 or 1.
        mask: `[M, N]` bool: what counts.

    Returns:
        `[M]` mean loss, summed over the K questions.
    """
    counted = mask[..., None].float()
    positives = (labels * counted).sum(dim=1, keepdim=True)
    negatives = counted.sum(dim=1, keepdim=True) - positives
    weight = (negatives / positives.clamp(min=1.0)).clamp(1.0 / _RARE, _RARE)
    weights = torch.where(labels > 0.5, weight, 1.0) * counted
    entropy = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return ((entropy * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)).sum(dim=-1)


class _Best:
    """The weights of each part when its own held-out loss was lowest so far.

    What a state means is learned from a few successes and overfits long before the motion has
    been learned. The parts share no weights, so each may keep those of its own best moment.
    """

    def __init__(
        self, network: DynamicsNetwork, scaling: Scaling, held_out: WindowSampler | None
    ) -> None:
        self.network, self.scaling = network, scaling
        self.windows: Windows | None = None
        if held_out is not None:
            members = network.motion.weights[0].shape[0]
            self.windows = _for_members(held_out.every(_HELD_OUT_WINDOWS), members)
        self.losses = [np.inf] * len(network.parts)
        self.weights: list[dict[str, Any]] = [{} for _ in network.parts]
        self.looks_since = 0
        self.look()

    def look(self) -> int:
        """Judge the present weights; return the looks since either part was at its best."""
        if self.windows is None:
            return 0
        with torch.no_grad():
            losses = rollout_loss(self.network, self.scaling, self.windows)
        self.looks_since += 1
        for index, (part, loss) in enumerate(zip(self.network.parts, losses, strict=True)):
            if float(loss) < self.losses[index]:
                self.losses[index], self.looks_since = float(loss), 0
                self.weights[index] = copy.deepcopy(part.state_dict())
        return self.looks_since

    def restore(self) -> float:
        """Go back to the best weights; return their loss, or NaN if nothing was held out."""
        if self.windows is None:
            return np.nan
        self.look()
        for part, weights in zip(self.network.parts, self.weights, strict=True):
            part.load_state_dict(weights)
        return sum(self.losses)


def _for_members(windows: Windows, members: int) -> Windows:
    """`[N]` windows -> `[M, N]`, the same for every member."""

    def repeated(values: torch.Tensor) -> torch.Tensor:
        return values.expand(members, *values.shape)

    return Windows(
        states=repeated(windows.states),
        actions=repeated(windows.actions),
        rewards=repeated(windows.rewards),
        gains=repeated(windows.gains),
        meanings=repeated(windows.meanings),
        mask=repeated(windows.mask),
    )
