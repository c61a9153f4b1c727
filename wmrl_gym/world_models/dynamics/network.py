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
            # Smaller than what keeps the signal's size through the layers (He et al., 2015): with
            # many inputs and few episodes, smooth functions carry over to new ones better.
            bound = width**-0.5
            self.weights.append(nn.Parameter((2.0 * uniform - 1.0) * bound))
            self.biases.append(nn.Parameter(torch.zeros((members, 1, following))))

    def input_norms(self) -> torch.Tensor:
        """Length of the weights that leave each input, summed over inputs and members."""
        lengths: torch.Tensor = self.weights[0].norm(dim=-1)
        return lengths.sum()

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

    Motion is the sum of a linear part that all members share (`fit_linear`) and of the members'
    own, which learn what is left. With a few thousand steps of a robot arm that halved the error
    of imagined hand positions.

    Args:
        observation_size: D.
        action_size: A.
        members: M.
        hidden: Width of the two hidden layers.
        generator: Draws the initial weights.
    """

    linear: torch.Tensor
    """`[D + A, D + 1]` from scaled inputs to changes and reward, in the units of `step`."""

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
        inputs, outputs = observation_size + action_size, observation_size + 1
        self.motion = MemberMLP(members, (inputs, hidden, hidden, outputs), generator)
        self.register_buffer("linear", torch.zeros((inputs, outputs)))
        # A state's meaning needs less: what decides it is mostly a distance.
        self.meaning = MemberMLP(
            members, (observation_size, hidden // 2, hidden // 2, 2), generator
        )
        self.gain = MemberMLP(members, (observation_size, hidden, hidden, 1), generator)

    @property
    def members(self) -> int:
        """M."""
        return len(self.motion.weights[0])

    def step(self, states: torch.Tensor, actions: torch.Tensor, scaling: Scaling) -> MemberStep:
        """One step from `[M, B, D]` states under `[M, B, A]` actions; M may be 1 as above."""
        inputs = torch.cat([scaling.scale(states), scaling.scale_actions(actions)], dim=-1)
        output = self.motion(inputs) + inputs @ self.linear
        return MemberStep(states + output[..., :-1] * scaling.step, output[..., -1])

    def gained(self, states: torch.Tensor, scaling: Scaling) -> torch.Tensor:
        """`[M, B, D]` states -> `[M, B]` return of the episode so far, as a state tells it."""
        gains: torch.Tensor = self.gain(scaling.scale(states))[..., 0]
        return gains * scaling.gain_spread + scaling.gain_mean

    def judge(self, states: torch.Tensor, scaling: Scaling) -> torch.Tensor:
        """`[M, B, D]` states -> `[M, B, 2]` logits of success and of termination there.

        They are those of a world in which half of all states are one: see `balanced_loss`.
        """
        logits: torch.Tensor = self.meaning(scaling.scale(states))
        return logits
