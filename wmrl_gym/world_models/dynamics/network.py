"""The networks of all members side by side, so that one product of matrices serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from wmrl_gym.world_models.dynamics.scaling import Scaling


class MemberMLP(nn.Module):
    """M perceptrons of equal shape with SiLU between their layers.

    Args:
        members: M.
        sizes: Width of the input, of each hidden layer, and of the output.
        generator: Draws the initial weights, on the CPU.
    """

    def __init__(self, members: int, sizes: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for width, following in pairwise(sizes):
            uniform = torch.rand((members, width, following), generator=generator)
            # He et al. (2015): keeps the signal's size through the layers; small at the output.
            bound = (6.0 / width) ** 0.5 if following != sizes[-1] else width**-0.5
            self.weights.append(nn.Parameter((2.0 * uniform - 1.0) * bound))
            self.biases.append(nn.Parameter(torch.zeros((members, 1, following))))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """`[M, B, in]`, or `[1, B, in]` for all members alike -> `[M, B, out]`."""
        values = inputs.expand(len(self.weights[0]), -1, -1)
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = torch.baddbmm(bias, functional.silu(values) if index else values, weight)
        return values


class MemberStep(NamedTuple):
    """What each member says about a batch of steps."""

    states: torch.Tensor
    """`[M, B, D]` next states, not clamped yet."""
    rewards: torch.Tensor
    """`[M, B]` in units of the rewards' spread, from their mean."""


class DynamicsNetwork(nn.Module):
    """The members: how a step changes the state, its reward, and what a state means.

    Args:
        observation_size: D.
        action_size: A.
        members: M.
        hidden: Width of the two hidden layers.
        generator: Draws the initial weights.
    """

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        *,
        members: int,
        hidden: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.motion = MemberMLP(
            members,
            (observation_size + action_size, hidden, hidden, observation_size + 1),
            generator,
        )
        # A state's meaning needs less: these logits were perfect on real states at any width.
        self.meaning = MemberMLP(
            members, (observation_size, hidden // 2, hidden // 2, 2), generator
        )

    def step(self, states: torch.Tensor, actions: torch.Tensor, scaling: Scaling) -> MemberStep:
        """One step from `[M, B, D]` states under `[M, B, A]` actions; M may be 1 as above."""
        inputs = torch.cat([scaling.scale(states), scaling.scale_actions(actions)], dim=-1)
        output = self.motion(inputs)
        return MemberStep(states + output[..., :-1] * scaling.step, output[..., -1])

    def judge(self, states: torch.Tensor, scaling: Scaling) -> torch.Tensor:
        """`[M, B, D]` states -> `[M, B, 2]` logits of success and of termination there.

        They are those of a world in which half of all states are one: see `balanced_loss`.
        """
        logits: torch.Tensor = self.meaning(scaling.scale(states))
        return logits
