"""The network of the small progress model, and what it sees of an episode."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

WORDS = 64
"""Slots that the words of an instruction are hashed into."""
PIXELS = 48
"""Frames are scaled to squares of this many pixels."""
_FEATURES = 64


class ProgressNetwork(nn.Module):
    """Compares a moment of an episode with its beginning, in the light of the instruction.

    Args:
        state_size: D for states; `None` for frames, which a small convolutional network reads.
        hidden: Width of the hidden layers.
    """

    def __init__(self, state_size: int | None, hidden: int) -> None:
        super().__init__()
        self.encoder = _eye(hidden) if state_size is None else _mlp(state_size, hidden, _FEATURES)
        self.head = _mlp(2 * _FEATURES + WORDS, hidden, 2)

    def forward(
        self, first: torch.Tensor, moments: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        """Logits of progress and of success.

        Args:
            first: `[B, ...]` inputs of the episodes' beginnings.
            moments: `[B, K, ...]` inputs of K moments of each.
            words: `[B, WORDS]`.

        Returns:
            `[B, K, 2]`.
        """
        batch, count = moments.shape[:2]
        # One pass through the encoder for beginnings and moments together.
        inputs = torch.cat([first, moments.flatten(0, 1)])
        features = self.encoder(inputs)
        start = features[:batch, None].expand(-1, count, -1)
        now = features[batch:].unflatten(0, (batch, count))
        said = words[:, None].expand(-1, count, -1)
        logits: torch.Tensor = self.head(torch.cat([start, now, said], dim=-1))
        return logits


def hash_words(instructions: Sequence[str]) -> torch.Tensor:
    """`[N]` instructions -> `[N, WORDS]` float32: which slots their words fall into."""
    slots = torch.zeros((len(instructions), WORDS))
    for row, instruction in zip(slots, instructions, strict=True):
        for word in re.findall(r"[a-z0-9]+", instruction.lower()):
            row[zlib.crc32(word.encode()) % WORDS] = 1.0
    return slots


def shrink(frames: npt.NDArray[np.uint8]) -> torch.Tensor:
    """`[F, H, W, 3]` uint8 -> `[F, 3, PIXELS, PIXELS]` uint8, by averaging."""
    pixels = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    small = functional.interpolate(pixels, size=(PIXELS, PIXELS), mode="area")
    return small.round().to(torch.uint8)


def _mlp(width: int, hidden: int, output: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
        nn.Linear(hidden, output),
    )  # fmt: skip


def _eye(hidden: int) -> nn.Sequential:
    """`[N, 3, PIXELS, PIXELS]` uint8 -> `[N, _FEATURES]`."""
    channels = (3, 16, 32, 64)
    layers: list[nn.Module] = [_ToUnit()]
    for before, after in pairwise(channels):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.SiLU()]
    size = channels[-1] * (PIXELS // 8) ** 2
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(size, hidden), nn.SiLU(), nn.Linear(hidden, _FEATURES)
    )


class _ToUnit(nn.Module):
    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.float() / 127.5 - 1.0
