"""Episodes as Minari datasets: written to, and read from, the local store of datasets.

Minari keeps its datasets below `MINARI_DATASETS_PATH`. What it has no field for (the task, the
instruction, what acted) goes into the metadata of each episode; success after each step goes
into its infos under the name `is_success`, as most environments call it. Frames are left out.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import MissingDependencyError, UnsupportedEnvironmentError

if TYPE_CHECKING:
    from minari import EpisodeData, MinariDataset
    from minari.data_collector.episode_buffer import EpisodeBuffer

    FindSuccess = str | Callable[[EpisodeData], npt.ArrayLike]

_SUCCESS = ("is_success", "success")
_TEXTS = ("task", "instruction", "policy")


def write_minari(
    episodes: Sequence[EpisodeRecord],
    dataset_id: str,
    *,
    env: str | gym.Env[Any, Any] | None = None,
    **metadata: Any,
) -> MinariDataset:
    """Write `[N]` episodes as a local dataset, without their frames.

    Args:
        episodes: Episodes with observations of one size and actions of one size.
        dataset_id: Name of the dataset, such as `"robot/reach/mixed-v0"`.
        env: The environment that they come from, or its id; the dataset then knows how to make
            it again, and has its spaces. Unbounded boxes otherwise.
        metadata: What else `minari.create_dataset_from_buffers` takes: `description`, `author`,
            `algorithm_name`, `code_permalink`, ...

    Returns:
        The dataset.

    Raises:
        ValueError: If there are no episodes, their sizes differ, the name is taken or ill formed.
        MissingDependencyError: If minari is not installed.
    """
    minari = _minari()
    sizes = {(e.observations.shape[1], e.actions.shape[1]) for e in episodes}
    if len(sizes) != 1:
        raise ValueError(
            f"episodes have the sizes of observation and action {sorted(sizes)}; a dataset has "
            "episodes of one size"
        )
    if dataset_id in minari.list_local_datasets():
        raise ValueError(f"dataset_id={dataset_id!r} is taken: choose another name or version")
    observation_size, action_size = sizes.pop()
    with warnings.catch_warnings():
        # One for each of the metadata that was not given.
        warnings.filterwarnings("ignore", module="minari.utils", category=UserWarning)
        dataset = minari.create_dataset_from_buffers(
            dataset_id,
            [_to_buffer(episode) for episode in episodes],
            env=env,
            observation_space=None if env is not None else _unbounded(observation_size),
            action_space=None if env is not None else _unbounded(action_size),
            data_format="parquet",
            **metadata,
        )
    texts = [{name: getattr(episode, name) for name in _TEXTS} for episode in episodes]
    dataset.storage.update_episode_metadata(texts)
    return dataset


def read_minari(
    dataset: str | Path | MinariDataset, *, success: FindSuccess | None = None
) -> list[EpisodeRecord]:
    """Read a local dataset; nothing is downloaded.

    Args:
        dataset: A dataset, its name, or its directory.
        success: Where success after each step is found: a name in the infos, or a function that
            takes Minari's episode and gives `[T]` booleans. `is_success` or `success` in the
            infos by default.

    Returns:
        `[N]` episodes. Dictionaries of observations (a goal environment's) are flattened in the
        order of their space, as `gymnasium.wrappers.FlattenObservation` does.

    Raises:
        ValueError: If there is no such dataset, or no success in it.
        UnsupportedEnvironmentError: If its observations or actions are not numbers in boxes.
        MissingDependencyError: If minari, or what it needs for the format, is not installed.
    """
    opened = _open(dataset) if isinstance(dataset, str | Path) else dataset
    spec = opened.spec
    name = spec.env_spec.id if spec.env_spec is not None else spec.dataset_id
    metadata = opened.storage.get_episode_metadata(opened.episode_indices)
    return [
        _to_record(episode, spec.observation_space, spec.action_space, facts, name, success)
        for episode, facts in zip(opened.iterate_episodes(), metadata, strict=True)
    ]


def _to_buffer(episode: EpisodeRecord) -> EpisodeBuffer:
    from minari.data_collector.episode_buffer import EpisodeBuffer

    return EpisodeBuffer(
        seed=episode.seed,
        observations=episode.observations,
        actions=episode.actions,
        rewards=list(episode.rewards),
        terminations=list(episode.terminations),
        truncations=list(episode.truncations),
        # A list, since Minari cannot read arrays of one axis back; the first is of the reset.
        infos={"is_success": [False, *episode.successes.tolist()]},
    )


def _to_record(
    episode: EpisodeData,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    metadata: Mapping[str, Any],
    name: str,
    success: FindSuccess | None,
) -> EpisodeRecord:
    steps = len(episode.rewards)
    return EpisodeRecord(
        observations=_flat("observation_space", observation_space, episode.observations),
        actions=_flat("action_space", action_space, episode.actions)[:steps],
        rewards=episode.rewards,
        terminations=episode.terminations,
        truncations=episode.truncations,
        successes=_successes(episode, success),
        task=str(metadata.get("task") or name),
        instruction=str(metadata.get("instruction", "")),
        seed=int(metadata["seed"]) if metadata.get("seed") is not None else None,
        policy=str(metadata.get("policy", "")),
    )


def _successes(episode: EpisodeData, success: FindSuccess | None) -> npt.NDArray[np.bool_]:
    """`[T]` bool."""
    if callable(success):
        return np.asarray(success(episode), dtype=np.bool_)
    names = _SUCCESS if success is None else (success,)
    found = next((name for name in names if name in episode.infos), None)
    if found is None:
        raise ValueError(
            f"success={success!r}: the infos of the dataset hold {sorted(episode.infos)}, and no "
            f"{' or '.join(names)}; name the right one, or give a function of the episode"
        )
    values = np.asarray(episode.infos[found]).reshape(-1)
    # Minari stores the info of the reset too, unless the dataset was made without.
    return values[-len(episode.rewards) :].astype(np.bool_)


def _flat(name: str, space: gym.Space[Any], values: Any) -> npt.NDArray[np.float32]:
    """`[T, ...]` values of a space -> `[T, D]` float32."""
    if isinstance(space, spaces.Dict):
        parts = [_flat(name, part, values[key]) for key, part in space.spaces.items()]
        return np.concatenate(parts, axis=-1)
    if not isinstance(space, spaces.Box) or space.dtype == np.uint8:
        raise UnsupportedEnvironmentError(
            f"{name} of the dataset holds {space}; only boxes of numbers, and dictionaries of "
            "them, can be read"
        )
    array = np.asarray(values, dtype=np.float32)
    return array.reshape(len(array), -1)


def _open(dataset: str | Path) -> MinariDataset:
    minari = _minari()
    local = Path(dataset)
    try:
        if (local / "data").is_dir():
            return minari.MinariDataset(os.fspath(local / "data"))
        return minari.load_dataset(os.fspath(dataset))
    except ImportError as error:
        raise MissingDependencyError(
            f"dataset={os.fspath(dataset)!r} is stored in a format that needs another package "
            f'({error}): pip install "minari[hdf5]"'
        ) from error
    except (FileNotFoundError, ValueError) as error:
        known = ", ".join(itertools.islice(minari.list_local_datasets(), 10)) or "none"
        raise ValueError(
            f"dataset={os.fspath(dataset)!r} cannot be read ({error}); local datasets: {known}"
        ) from error


def _unbounded(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def _minari() -> Any:
    try:
        import minari
    except ImportError as error:
        raise MissingDependencyError(
            'datasets of Minari need minari: pip install "wmrl-gym[vla]"'
        ) from error
    return minari
