"""The network: a small CNN whose features the instruction scales and shifts (FiLM).

FiLM is from Perez et al., "FiLM: Visual Reasoning with a General Conditioning Layer" (2018).
"""

from __future__ import annotations

from typing import Any

import torch as th
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from wmrl_gym.agents.vla.inputs import VOCABULARY

_CHANNELS = (32, 64, 64)
_KERNELS = ((8, 4), (4, 2), (3, 2))
_WORD_SIZE = 32


class FiLMExtractor(BaseFeaturesExtractor):
    """Features of `[B]` observations of `PolicyInputs`: pictures, state and instruction.

    Args:
        observation_space: That of `PolicyInputs`; pictures of at least 44 pixels.
        features_dim: Number of features.
    """

    def __init__(self, observation_space: spaces.Dict, features_dim: int = 256) -> None:
        super().__init__(observation_space, features_dim)
        self.cameras = [key for key in ("image", "wrist_image") if key in observation_space.spaces]
        self.words = nn.EmbeddingBag(VOCABULARY, _WORD_SIZE, mode="mean", padding_idx=0)
        self.eyes = nn.ModuleDict({key: _Eye() for key in self.cameras})
        state_size = spaces.flatdim(observation_space["state"])
        with th.no_grad():
            shape = observation_space[self.cameras[0]].shape
            seen = self.eyes[self.cameras[0]](th.zeros(1, *shape or ()), th.zeros(1, _WORD_SIZE))
        size = len(self.cameras) * seen.shape[1] + state_size + _WORD_SIZE
        self.mix = nn.Sequential(
            nn.Linear(size, features_dim),
            nn.ReLU(),
            nn.Linear(features_dim, features_dim),
            nn.ReLU(),
        )

    def forward(self, observations: dict[str, th.Tensor]) -> th.Tensor:
        """`[B, features_dim]` features; pictures come in [0, 1]."""
        instruction: th.Tensor = self.words(observations["instruction"].long())
        seen = [self.eyes[key](observations[key], instruction) for key in self.cameras]
        features: th.Tensor = self.mix(th.cat([*seen, observations["state"], instruction], dim=1))
        return features


class _Eye(nn.Module):
    """Three convolutions, each conditioned on the instruction."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (3, *_CHANNELS[:-1])
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, kernel, stride)
            for i, o, (kernel, stride) in zip(inputs, _CHANNELS, _KERNELS, strict=True)
        )
        self.films = nn.ModuleList(nn.Linear(_WORD_SIZE, 2 * channels) for channels in _CHANNELS)

    def forward(self, pictures: th.Tensor, instruction: th.Tensor) -> th.Tensor:
        for convolution, film in zip(self.convolutions, self.films, strict=True):
            scale, shift = film(instruction)[:, :, None, None].chunk(2, dim=1)
            pictures = th.relu(convolution(pictures) * (1.0 + scale) + shift)
        return pictures.flatten(1)


def policy_arguments(**changes: Any) -> dict[str, Any]:
    """Arguments that make `GRPO("MultiInputPolicy", env, policy_kwargs=...)` this policy.

    Args:
        changes: What to replace or to add.
    """
    return {"features_extractor_class": FiLMExtractor, "net_arch": [], **changes}
