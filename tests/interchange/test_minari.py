from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import minari
import numpy as np
import pytest
from minari.data_collector.episode_buffer import EpisodeBuffer

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.interchange.minari import read_minari, write_minari

# Of Minari, one for each of the metadata that are not given.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari.utils")


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def record(steps: int, seed: int | None) -> EpisodeRecord:
    rng = np.random.default_rng(steps)
    return EpisodeRecord(
        rng.normal(size=(steps + 1, 3)),
        rng.uniform(-1, 1, (steps, 2)),
        rng.normal(size=steps),
        np.arange(steps) == steps - 1,
        np.zeros(steps),
        rng.random(steps) < 0.5,
        task="push",
        instruction="Push the cube.",
        seed=seed,
        policy="random",
    )


def test_episodes_survive_a_dataset() -> None:
    written = [record(4, seed=3), record(7, seed=None)]
    write_minari(written, "points/push-v0", description="A test.")
    for one, other in zip(written, read_minari("points/push-v0"), strict=True):
        for name in (
            "observations",
            "actions",
            "rewards",
            "terminations",
            "truncations",
            "successes",
        ):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        for name in ("task", "instruction", "seed", "policy"):
            assert getattr(one, name) == getattr(other, name)


def test_a_dataset_may_be_given_by_its_directory_or_itself(tmp_path: Path) -> None:
    dataset = write_minari([record(4, seed=3)], "push-v0")
    assert read_minari(tmp_path / "push-v0")[0].length == 4
    assert read_minari(dataset)[0].length == 4


def test_the_environment_can_be_recovered() -> None:
    env = gym.make("Pendulum-v1")
    env.reset(seed=0)
    episode = EpisodeRecord(
        np.zeros((3, 3)), np.zeros((2, 1)), np.zeros(2), np.zeros(2), [0, 1], np.zeros(2)
    )
    dataset = write_minari([episode], "pendulum/zero-v0", env=env)
    recovered = dataset.recover_environment()
    assert recovered.spec is not None
    assert recovered.spec.id == "Pendulum-v1"
    assert dataset.spec.action_space == env.action_space
    assert read_minari(dataset)[0].task == "Pendulum-v1"


def goal_dataset(infos: dict[str, list[float]] | None) -> minari.MinariDataset:
    box = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    steps = 3
    values = {
        "achieved_goal": np.arange(8.0).reshape(4, 2),
        "desired_goal": np.ones((4, 2)),
        "observation": -np.arange(8.0).reshape(4, 2),
    }
    buffer = EpisodeBuffer(
        observations=values,
        actions=np.zeros((steps, 1), np.float32),
        rewards=[0.0, 0.0, 1.0],
        terminations=[False] * 3,
        truncations=[False, False, True],
        infos=infos,
    )
    return minari.create_dataset_from_buffers(
        "goals-v0",
        [buffer],
        observation_space=gym.spaces.Dict(dict.fromkeys(values, box)),
        action_space=gym.spaces.Box(-1, 1, (1,), np.float32),
        data_format="parquet",
    )


def test_goal_dictionaries_are_flattened_as_gymnasium_does() -> None:
    goal_dataset({"success": [0.0, 0.0, 1.0, 1.0]})
    (episode,) = read_minari("goals-v0")
    assert episode.observations[1].tolist() == [2, 3, 1, 1, -2, -3]
    assert episode.successes.tolist() == [False, True, True]
    assert episode.task == "goals-v0"


def test_success_may_be_a_function_or_another_name() -> None:
    dataset = goal_dataset({"solved": [0, 1, 0, 0]})
    (by_name,) = read_minari(dataset, success="solved")
    assert by_name.successes.tolist() == [True, False, False]
    (by_function,) = read_minari(dataset, success=lambda episode: episode.rewards >= 1.0)
    assert by_function.successes.tolist() == [False, False, True]


def test_no_success_is_not_failure() -> None:
    goal_dataset({"distance": [0.0] * 4})
    with pytest.raises(ValueError, match=r"hold \['distance'\], and no is_success or success"):
        read_minari("goals-v0")


def test_other_spaces_are_refused() -> None:
    buffer = EpisodeBuffer(
        observations=np.zeros((2, 1), np.float32),
        actions=np.zeros(1, np.int64),
        rewards=[0.0],
        terminations=[True],
        truncations=[False],
        infos={"success": [False, False]},
    )
    dataset = minari.create_dataset_from_buffers(
        "discrete-v0",
        [buffer],
        observation_space=gym.spaces.Box(-1, 1, (1,), np.float32),
        action_space=gym.spaces.Discrete(3),
        data_format="parquet",
    )
    with pytest.raises(UnsupportedEnvironmentError, match="action_space of the dataset"):
        read_minari(dataset)


def test_bad_names_and_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot be read .*local datasets: none"):
        read_minari("nothing-v0")
    write_minari([record(4, seed=0)], "push-v0")
    with pytest.raises(ValueError, match="is taken"):
        write_minari([record(4, seed=0)], "push-v0")
    with pytest.raises(ValueError, match="local datasets: push-v0"):
        read_minari("nothing-v0")
    other = EpisodeRecord(
        np.zeros((2, 5)), np.zeros((1, 2)), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)
    )
    with pytest.raises(ValueError, match="of one size"):
        write_minari([record(4, seed=0), other], "mixed-v0")
