"""Moments of episodes with what is known about them, drawn for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.progress.network import hash_words

MOMENTS = 8
"""Moments of an episode in a gradient step."""


@dataclass(frozen=True, eq=False)
class Moments:
    """K moments of each of B episodes."""

    first: torch.Tensor
    """`[B, ...]` inputs of the beginnings."""
    moments: torch.Tensor
    """`[B, K, ...]` inputs."""
    words: torch.Tensor
    """`[B, WORDS]` of the instructions."""
    success: torch.Tensor
    """`[B, K]` 0 or 1."""
    progress: torch.Tensor
    """`[B, K]` in [0, 1]."""
    known: torch.Tensor
    """`[B, K]` 0 or 1: whether the progress is known."""


class MomentSampler:
    """Draws moments.

    Args:
        episodes: `[N]` episodes.
        inputs: `[N]` tensors, what the network sees of each at its F moments, in order of time.
            The first is the beginning and the last the end of the episode.
    """

    def __init__(self, episodes: Sequence[EpisodeRecord], inputs: Sequence[torch.Tensor]) -> None:
        self.inputs = inputs
        self.words = hash_words([episode.instruction for episode in episodes])
        labelled = [label(e, len(i)) for e, i in zip(episodes, inputs, strict=True)]
        self.success, self.progress = zip(*labelled, strict=True)

    def draw(self, batch_size: int, rng: np.random.Generator) -> Moments:
        """Moments of episodes drawn at random; the end of each, where success is, is one."""
        chosen = rng.integers(len(self.inputs), size=batch_size)
        times = [
            np.append(rng.integers(len(self.inputs[i]), size=MOMENTS - 1), len(self.inputs[i]) - 1)
            for i in chosen
        ]
        return self._at(chosen.tolist(), times)

    def every(self) -> Moments:
        """Moments evenly over each episode."""
        times = [np.linspace(0, len(each) - 1, MOMENTS).astype(np.int64) for each in self.inputs]
        return self._at(list(range(len(self.inputs))), times)

    def _at(self, chosen: list[int], times: list[npt.NDArray[np.int64]]) -> Moments:
        pairs = list(zip(chosen, (torch.from_numpy(t) for t in times), strict=True))
        progress = torch.stack([self.progress[i][t] for i, t in pairs])
        return Moments(
            first=torch.stack([self.inputs[i][0] for i in chosen]),
            moments=torch.stack([self.inputs[i][t] for i, t in pairs]),
            words=self.words[chosen],
            success=torch.stack([self.success[i][t] for i, t in pairs]),
            progress=progress.nan_to_num(),
            known=(~progress.isnan()).float(),
        )


def label(episode: EpisodeRecord, moments: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Success and progress at `moments` moments, evenly from the reset to the last step.

    Returns:
        `[F]` 0 or 1 whether the task is achieved, and `[F]` the share of the steps to the first
        success, 1 from there on; NaN if there was none.
    """
    achieved = np.concatenate([[False], episode.successes])
    steps = np.linspace(0, episode.length, moments).round().astype(np.int64)
    success = torch.from_numpy(achieved[steps].astype(np.float32))
    if not achieved.any():
        return success, torch.full((moments,), torch.nan)
    return success, torch.from_numpy(steps / achieved.argmax()).float().clamp(max=1.0)
