from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord, load_episodes, save_episodes


def episode(steps: int = 3, *, frames: bool = False, seed: int | None = 4) -> EpisodeRecord:
    builder = EpisodeBuilder(
        [0.0, 1.0], task="reach", instruction="Reach the red ball.", seed=seed, policy="expert"
    )
    for step in range(steps):
        builder.add(
            [0.5],
            [step + 1.0, 1.0],
            0.25,
            terminated=step == steps - 1,
            truncated=False,
            success=step == 1,
        )
        if frames:
            builder.add_frame(np.full((4, 5, 3), step, np.uint8))
    return builder.build()


def test_figures_of_an_episode() -> None:
    record = episode()
    assert (record.length, record.total_reward) == (3, 0.75)
    assert (record.success_once, record.success_at_end) == (True, False)
    assert record.meanings.tolist() == [[False, False], [True, False], [False, True]]


def test_the_builder_keeps_copies() -> None:
    observation, action = np.zeros(2), np.zeros(1)
    builder = EpisodeBuilder(observation)
    builder.add(action, observation, 0.0, terminated=False, truncated=True, success=False)
    observation[:], action[:] = 9.0, 9.0
    record = builder.build()
    assert not record.observations.any()
    assert not record.actions.any()


def test_types_are_converted() -> None:
    record = EpisodeRecord([[0, 1], [2, 3]], [[1]], [1], [0], [1], [1])  # type: ignore[arg-type]  # lists are welcome
    assert record.observations.dtype == np.float32
    assert record.rewards.dtype == np.float64
    assert record.truncations.dtype == np.bool_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((3, 2))}, "3 actions need 4 observations"),
        ({"observations": np.zeros(4)}, "flatten them"),
        ({"actions": np.zeros((0, 1))}, "T >= 1"),
        ({"rewards": np.zeros(2)}, r"rewards has the shape \(2,\)"),
        ({"successes": np.zeros((3, 1))}, "successes has the shape"),
        ({"frames": np.zeros((4, 8, 8))}, "not .F, H, W, 3."),
    ],
)
def test_shapes_that_do_not_fit_are_named(change: dict[str, np.ndarray], message: str) -> None:
    arrays = {
        "observations": np.zeros((4, 2)),
        "actions": np.zeros((3, 1)),
        "rewards": np.zeros(3),
        "terminations": np.zeros(3),
        "truncations": np.zeros(3),
        "successes": np.zeros(3),
    }
    with pytest.raises(ValueError, match=message):
        EpisodeRecord(**{**arrays, **change})


def test_an_empty_builder_builds_nothing() -> None:
    with pytest.raises(ValueError, match="no step yet"):
        EpisodeBuilder([0.0]).build()


def test_episodes_survive_a_file(tmp_path: Path) -> None:
    written = [episode(3), episode(2, frames=True, seed=None)]
    save_episodes(tmp_path / "episodes.npz", written)
    read = load_episodes(tmp_path / "episodes.npz")
    for one, other in zip(written, read, strict=True):
        for name in ("observations", "actions", "rewards", "terminations", "successes"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("task", "instruction", "seed", "policy"):
            assert getattr(one, name) == getattr(other, name)
    assert read[0].frames is None
    assert read[1].frames is not None
    assert read[1].frames[1, 0, 0, 0] == 1


def test_a_directory_is_read_by_name(tmp_path: Path) -> None:
    save_episodes(tmp_path / "b.npz", [episode(2)])
    save_episodes(tmp_path / "a.npz", [episode(4), episode(3)])
    assert [record.length for record in load_episodes(tmp_path)] == [4, 3, 2]


def test_what_is_no_file_of_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no episodes"):
        load_episodes(tmp_path)
    with pytest.raises(ValueError, match="cannot be read"):
        load_episodes(tmp_path / "missing.npz")
    np.savez(tmp_path / "other.npz", numbers=np.zeros(3))
    with pytest.raises(ValueError, match="not written by save_episodes"):
        load_episodes(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ValueError, match="cannot be read"):
        load_episodes(tmp_path / "text.npz")
    with pytest.raises(ValueError, match="nothing to write"):
        save_episodes(tmp_path / "empty.npz", [])
