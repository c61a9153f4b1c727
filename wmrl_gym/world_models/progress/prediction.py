"""How checkpoints that watch videos become reward models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeRecord

Frames = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ProgressPrediction:
    """What a model says about one rollout that it watched."""

    progress: npt.NDArray[np.float64]
    """`[F]` float64 in [0, 1]: how far the task had come at each frame; 1 when it is achieved."""
    success: float
    """Probability in [0, 1] that the rollout achieved the task; NaN if the model gave no answer."""


Watch = Callable[[Sequence[Frames], Sequence[str]], Sequence[ProgressPrediction]]
"""Takes N videos, `[F_i, H, W, 3]` uint8 each, and N instructions; gives N predictions."""


class FrameRewardModel:
    """A reward model out of a function that watches videos, such as a large checkpoint's.

    Args:
        watch: The function; it gets all rollouts of a batch at once.
        use_progress: Score by the highest progress instead of the probability of success, for
            models that give no such probability.
    """

    def __init__(self, watch: Watch, *, use_progress: bool = False) -> None:
        self.watch = watch
        self.use_progress = use_progress

    def score(self, episodes: Sequence[EpisodeRecord]) -> npt.NDArray[np.float64]:
        """Score `[N]` episodes by their frames; see `RewardModel`.

        Raises:
            ValueError: If an episode has no frames, or the function breaks its contract.
        """
        videos = [frames_of(episode) for episode in episodes]
        if not videos:
            return np.zeros(0)
        predictions = self.watch(videos, [episode.instruction for episode in episodes])
        if len(predictions) != len(videos):
            raise ValueError(f"watch gave {len(predictions)} predictions for {len(videos)} videos")
        scores = np.array([self._score(prediction) for prediction in predictions])
        if ((scores < 0.0) | (scores > 1.0)).any():
            raise ValueError(f"watch gave scores outside [0, 1], such as {scores.max()!r}")
        return scores

    def _score(self, prediction: ProgressPrediction) -> float:
        if self.use_progress:
            return float(np.max(prediction.progress, initial=0.0))
        return float(prediction.success)


def frames_of(episode: EpisodeRecord) -> Frames:
    """The frames of an episode.

    Raises:
        ValueError: If it has none.
    """
    if episode.frames is None:
        raise ValueError(
            f"an episode of task={episode.task!r} has no frames: record it with frames, or use "
            "a model of states"
        )
    return episode.frames
