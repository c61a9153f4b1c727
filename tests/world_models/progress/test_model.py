from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.world_models.dynamics.double_integrator import SIZE, record
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics import success_auc
from wmrl_gym.world_models.progress import ProgressModel, RewardModel
from wmrl_gym.world_models.progress.network import WORDS, hash_words, shrink
from wmrl_gym.world_models.progress.samples import label


def film(episode: EpisodeRecord, frames: int = 6) -> EpisodeRecord:
    """The episode with pictures: how near the goal is, as the brightness of a disc."""
    moments = np.linspace(0, episode.length, frames).round().astype(int)
    distance = np.linalg.norm(episode.observations[moments, 6:8], axis=-1)
    pictures = np.zeros((frames, 24, 24, 3), np.uint8)
    pictures[:, 6:18, 6:18, 0] = (255 * np.exp(-4.0 * distance))[:, None, None]
    return replace(episode, frames=pictures, instruction="Bring the mass to the goal.")


@pytest.fixture(scope="module")
def model() -> ProgressModel:
    return ProgressModel("states", state_size=SIZE, hidden=64, updates=400).fit(record(200, seed=0))


def test_scores_of_states_tell_success_from_failure(model: ProgressModel) -> None:
    episodes = record(60, seed=1)
    scores = model.score(episodes)
    assert isinstance(model, RewardModel)
    assert (scores.dtype, scores.shape) == (np.float64, (60,))
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
    assert success_auc(scores, [e.success_once for e in episodes]).lower > 0.8


def test_progress_rises_on_the_way_of_an_expert(model: ProgressModel) -> None:
    experts = [e for e in record(60, seed=2) if e.success_once and e.length > 10][:8]
    for episode, prediction in zip(experts, model.predict(experts), strict=True):
        assert prediction.progress.shape == (episode.length + 1,)
        assert prediction.progress[-1] > prediction.progress[0] + 0.2


def test_scores_do_not_depend_on_the_batch(model: ProgressModel) -> None:
    episodes = record(6, seed=3)
    alone = [model.score([episode])[0] for episode in episodes]
    np.testing.assert_allclose(model.score(episodes), alone, atol=1e-6)
    assert model.score([]).shape == (0,)


def test_scores_of_frames_tell_success_from_failure() -> None:
    films = [film(episode) for episode in record(60, seed=0)]
    model = ProgressModel("frames", hidden=32, updates=60, batch_size=8).fit(films)
    held_out = [film(episode) for episode in record(40, seed=1)]
    truth = [e.success_once for e in held_out]
    assert success_auc(model.score(held_out), truth).lower > 0.7


def test_a_saved_model_is_the_same(model: ProgressModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model.pt")
    loaded = ProgressModel.load(tmp_path / "model.pt")
    episodes = record(5, seed=4)
    assert np.array_equal(loaded.score(episodes), model.score(episodes))
    torch.save({"format": 1, "kind": "other"}, tmp_path / "other.pt")
    for name in ("other.pt", "missing.pt"):
        with pytest.raises(ValueError, match="no "):
            ProgressModel.load(tmp_path / name)


def test_equal_seeds_give_equal_models_and_leave_torch_alone() -> None:
    before = torch.get_rng_state()
    one, two = (
        ProgressModel("states", state_size=SIZE, hidden=8, updates=5).fit(record(20, seed=0))
        for _ in range(2)
    )
    assert np.array_equal(one.score(record(4, seed=1)), two.score(record(4, seed=1)))
    assert torch.equal(before, torch.get_rng_state())


def test_labels_follow_the_first_success() -> None:
    episode = replace(record(1, seed=0)[0], frames=None)
    steps = 4
    short = EpisodeRecord(
        episode.observations[: steps + 1],
        episode.actions[:steps],
        np.zeros(steps),
        np.zeros(steps),
        np.zeros(steps),
        [False, True, False, True],
    )
    success, progress = label(short, 5)
    assert success.tolist() == [0, 0, 1, 0, 1]
    assert progress.tolist() == [0.0, 0.5, 1.0, 1.0, 1.0]
    success, progress = label(short, 3)
    assert (success.tolist(), progress.tolist()) == ([0, 1, 1], [0.0, 1.0, 1.0])
    failed = replace(short, successes=np.zeros(steps))
    assert label(failed, 3)[1].isnan().all()


def test_words_are_hashed_alike_whatever_their_case() -> None:
    one, two, other = hash_words(["Push the RED cube!", "push, the red cube", "open it"])
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert one.shape == (WORDS,)
    assert 1 <= one.sum() <= 4


def test_pictures_are_averaged() -> None:
    picture = np.zeros((1, 96, 96, 3), np.uint8)
    picture[:, ::2] = 100
    small = shrink(picture)
    assert small.shape == (1, 3, 48, 48)
    assert (small == 50).all()


def test_what_cannot_be_learned_is_refused() -> None:
    episodes = record(10, seed=0)
    failures = [episode for episode in episodes if not episode.success_once]
    with pytest.raises(ValueError, match="successes and failures"):
        ProgressModel("states", state_size=SIZE).fit(failures)
    with pytest.raises(ValueError, match="has no frames"):
        ProgressModel("frames").fit(episodes)
    with pytest.raises(ValueError, match="state_size=4"):
        ProgressModel("states", state_size=4).fit(episodes)
    with pytest.raises(ValueError, match="call fit first"):
        ProgressModel("frames").score(episodes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "sounds"}, "source='sounds'"),
        ({"source": "states"}, "state_size=None"),
        ({"source": "frames", "state_size": 3}, "state_size=3"),
        ({"source": "frames", "updates": 0}, "updates=0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProgressModel(**arguments)  # type: ignore[arg-type]  # that is the test
