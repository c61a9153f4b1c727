from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.progress import FrameRewardModel, ProgressPrediction, RewardModel


def film(brightness: int, frames: int) -> EpisodeRecord:
    return EpisodeRecord(
        np.zeros((2, 1)),
        np.zeros((1, 1)),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        instruction=f"Reach {brightness}.",
        frames=np.full((frames, 4, 4, 3), brightness, np.uint8),
    )


def watch(videos: Sequence[np.ndarray], instructions: Sequence[str]) -> list[ProgressPrediction]:
    """Takes brightness for success, if the instruction asks for it."""
    return [
        ProgressPrediction(
            np.linspace(0.0, 0.5, len(video)),
            video.max() / 255 if str(video.max()) in instruction else np.nan,
        )
        for video, instruction in zip(videos, instructions, strict=True)
    ]


def test_videos_and_instructions_go_in_one_batch() -> None:
    model = FrameRewardModel(watch)
    assert isinstance(model, RewardModel)
    assert model.score([film(255, 3), film(51, 8)]).tolist() == [1.0, 0.2]
    assert model.score([]).shape == (0,)


def test_no_answer_is_no_score() -> None:
    silent = film(51, 2)
    model = FrameRewardModel(lambda videos, _: watch(videos, ["something else"]))
    assert np.isnan(model.score([silent])).all()


def test_progress_may_be_the_score() -> None:
    assert FrameRewardModel(watch, use_progress=True).score([film(51, 3)]).tolist() == [0.5]


def test_a_broken_contract_is_named() -> None:
    with pytest.raises(ValueError, match="0 predictions for 1 videos"):
        FrameRewardModel(lambda videos, instructions: []).score([film(5, 2)])
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        FrameRewardModel(
            lambda videos, instructions: [ProgressPrediction(np.zeros(1), 1.5)] * len(videos)
        ).score([film(5, 2)])
