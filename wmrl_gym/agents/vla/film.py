"""The network: a small CNN that says where in each picture the things are that were asked for.

The instruction scales and shifts the features (FiLM: Perez et al., "FiLM: Visual Reasoning with a
General Conditioning Layer", 2018). What is kept of each feature map is where its peak lies and
how high it is (spatial soft-argmax: Levine et al., "End-to-End Training of Deep Visuomotor
Policies", 2016), not the map itself, and the words are heard nowhere else. With all of the maps
and the words to look at, the policy learned its demonstrations by heart and found nothing in new
scenes.
"""

from __future__ import annotations

from typing import Any

import torch as th
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from wmrl_gym.agents.vla.inputs import STATE_UNITS, VOCABULARY

_CHANNELS = (16, 32)
_KERNELS = ((5, 2), (3, 2))
"""Size and stride; small ones, for a distant thing is only three pixels wide."""
_GROUPS = 4
_WORD_SIZE, _WORD_SPREAD = 32, 0.5
_POINTS = 8
"""Points that are looked for in each picture."""
_SHARPNESS = 3.0
"""Of the soft-argmax at first; at 1 all points start in the middle and take long to leave."""


class FiLMExtractor(BaseFeaturesExtractor):
    """Features of `[B]` observations of `PolicyInputs`: pictures, state and instruction.

    Give it both cameras: one picture does not tell how far away a thing is.

    Args:
        observation_space: That of `PolicyInputs`.
        features_dim: Number of features.
    """

    def __init__(self, observation_space: spaces.Dict, features_dim: int = 256) -> None:
        super().__init__(observation_space, features_dim)
        self.cameras = [key for key in ("image", "wrist_image") if key in observation_space.spaces]
        self.words = nn.EmbeddingBag(VOCABULARY, _WORD_SIZE, mode="sum", padding_idx=0)
        nn.init.normal_(self.words.weight, std=_WORD_SPREAD)
        self.eyes = nn.ModuleDict({key: _Eye() for key in self.cameras})
        size = len(self.cameras) * 3 * _POINTS + len(STATE_UNITS)
        self.mix = nn.Sequential(
            nn.Linear(size, features_dim),
            nn.ReLU(),
            nn.Linear(features_dim, features_dim),
            nn.ReLU(),
        )

    def forward(self, observations: dict[str, th.Tensor]) -> th.Tensor:
        """`[B, features_dim]` features; pictures come in [0, 1]."""
        words: th.Tensor = self.words(observations["instruction"].long())
        seen = [self.eyes[key](observations[key], words) for key in self.cameras]
        state = observations["state"]
        state = state / state.new_tensor(STATE_UNITS)
        features: th.Tensor = self.mix(th.cat([*seen, state], dim=1))
        return features


class _Eye(nn.Module):
    """Points in a picture: `[B, 3, H, W]` and the words `[B, W]` -> `[B, 3 * _POINTS]`."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (3, *_CHANNELS[:-1])
        self.convolutions = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(i, o, kernel, stride, padding=kernel // 2), nn.GroupNorm(_GROUPS, o)
            )
            for i, o, (kernel, stride) in zip(inputs, _CHANNELS, _KERNELS, strict=True)
        )
        self.films = nn.ModuleList(nn.Linear(_WORD_SIZE, 2 * channels) for channels in _CHANNELS)
        self.points = nn.Conv2d(_CHANNELS[-1], _POINTS, 1)
        self.sharpness = nn.Parameter(th.tensor(_SHARPNESS))

    def forward(self, pictures: th.Tensor, words: th.Tensor) -> th.Tensor:
        maps = 2.0 * pictures - 1.0
        for convolution, film in zip(self.convolutions, self.films, strict=True):
            scale, shift = film(words)[:, :, None, None].chunk(2, dim=1)
            maps = th.relu(convolution(maps) * (1.0 + scale) + shift)
        return _peaks(self.sharpness * self.points(maps))


def _peaks(maps: th.Tensor) -> th.Tensor:
    """Where the peaks of `[B, K, H, W]` maps lie and how high they are, `[B, 3 * K]`."""
    attention = maps.flatten(2).softmax(dim=2).view_as(maps)
    down = th.linspace(-1.0, 1.0, maps.shape[2], device=maps.device)
    right = th.linspace(-1.0, 1.0, maps.shape[3], device=maps.device)
    y = (attention.sum(dim=3) * down).sum(dim=2)
    x = (attention.sum(dim=2) * right).sum(dim=2)
    peak = (attention * maps).sum(dim=(2, 3))
    return th.cat([x, y, 0.3 * peak], dim=1)


def policy_arguments(**changes: Any) -> dict[str, Any]:
    """Arguments that make `GRPO("MultiInputPolicy", env, policy_kwargs=...)` this policy.

    Args:
        changes: What to replace or to add.
    """
    return {"features_extractor_class": FiLMExtractor, "net_arch": [], **changes}
