"""Recorded episodes of environments with flat observations: what dynamics models learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

FORMAT = 1
"""Version of the files that `save_episodes` writes."""


@dataclass(frozen=True, eq=False)
class EpisodeRecord:
    """One recorded episode of T steps. Arrays are converted to the types below, and checked.

    Raises:
        ValueError: If a shape does not fit the others, or there is no step.
    """

    observations: npt.NDArray[np.float32]
    """`[T + 1, D]` float32; the first comes from the reset, the last ends the episode."""
    actions: npt.NDArray[np.float32]
    """`[T, A]` float32."""
    rewards: npt.NDArray[np.float64]
    """`[T]` float64."""
    terminations: npt.NDArray[np.bool_]
    """`[T]` bool."""
    truncations: npt.NDArray[np.bool_]
    """`[T]` bool."""
    successes: npt.NDArray[np.bool_]
    """`[T]` bool: whether the task is achieved in the state after each step."""
    task: str = ""
    """Name of the task."""
    instruction: str = ""
    """The task in words, as this episode was given it."""
    seed: int | None = None
    """Seed of the reset, if it had one."""
    frames: npt.NDArray[np.uint8] | None = None
    """`[F, H, W, 3]` uint8, frames in the order of time, with any F >= 1; `None` without."""
    policy: str = ""
    """What acted; episodes of one policy are compared with those of others."""

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=kind)
            object.__setattr__(self, name, array)
        if self.frames is not None:
            object.__setattr__(self, "frames", np.asarray(self.frames, dtype=np.uint8))
        _check(self)

    @property
    def length(self) -> int:
        """Number of steps T."""
        return len(self.actions)

    @property
    def meanings(self) -> npt.NDArray[np.bool_]:
        """`[T, 2]` bool: success and termination after each step."""
        return np.stack([self.successes, self.terminations], axis=-1)

    @property
    def total_reward(self) -> float:
        """Sum of the rewards."""
        return float(self.rewards.sum())

    @property
    def success_once(self) -> bool:
        """Whether the task was achieved after any step."""
        return bool(self.successes.any())

    @property
    def success_at_end(self) -> bool:
        """Whether the task was achieved after the last step."""
        return bool(self.successes[-1])


_ARRAYS: dict[str, type[np.generic]] = {
    "observations": np.float32,
    "actions": np.float32,
    "rewards": np.float64,
    "terminations": np.bool_,
    "truncations": np.bool_,
    "successes": np.bool_,
}


def _check(episode: EpisodeRecord) -> None:
    if episode.observations.ndim != 2 or episode.actions.ndim != 2 or not len(episode.actions):
        raise ValueError(
            f"observations of shape {episode.observations.shape} and actions of shape "
            f"{episode.actions.shape} must be [T + 1, D] and [T, A] with T >= 1; flatten them"
        )
    steps = len(episode.actions)
    if len(episode.observations) != steps + 1:
        raise ValueError(
            f"{steps} actions need {steps + 1} observations, the first from the reset, but "
            f"there are {len(episode.observations)}"
        )
    for name in ("rewards", "terminations", "truncations", "successes"):
        shape = getattr(episode, name).shape
        if shape != (steps,):
            raise ValueError(f"{name} has the shape {shape}, but there are {steps} actions")
    frames = episode.frames
    if frames is not None and (frames.ndim != 4 or frames.shape[-1] != 3 or not len(frames)):
        raise ValueError(f"frames have the shape {frames.shape}, not [F, H, W, 3] with F >= 1")


@dataclass
class EpisodeBuilder:
    """Collects the steps of one running episode.

    Examples:
        >>> builder = EpisodeBuilder(np.zeros(2), task="reach")
        >>> builder.add(np.ones(1), np.ones(2), 1.0, terminated=True, truncated=False, success=True)
        >>> builder.build().success_once
        True
    """

    start: npt.ArrayLike
    """`[D]` observation from the reset."""
    task: str = ""
    instruction: str = ""
    seed: int | None = None
    policy: str = ""
    _steps: list[tuple[npt.ArrayLike, npt.ArrayLike, float, bool, bool, bool]] = field(
        default_factory=list
    )
    _frames: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start = np.array(self.start, dtype=np.float32)

    def __len__(self) -> int:
        return len(self._steps)

    def add(
        self,
        action: npt.ArrayLike,
        observation: npt.ArrayLike,
        reward: float,
        *,
        terminated: bool,
        truncated: bool,
        success: bool,
    ) -> None:
        """Add a step: `[A]` action, `[D]` observation after it; both are copied."""
        action, observation = np.array(action, np.float32), np.array(observation, np.float32)
        self._steps.append((action, observation, float(reward), terminated, truncated, success))

    def add_frame(self, frame: npt.NDArray[np.uint8]) -> None:
        """Add a frame, `[H, W, 3]` uint8; as few or many as there are, in the order of time."""
        self._frames.append(np.array(frame, dtype=np.uint8))

    def build(self) -> EpisodeRecord:
        """The episode so far.

        Raises:
            ValueError: If there is no step yet.
        """
        if not self._steps:
            raise ValueError("there is no step yet: call add first")
        actions, observations, rewards, terminations, truncations, successes = zip(
            *self._steps, strict=True
        )
        return EpisodeRecord(
            observations=np.stack([self.start, *observations]),
            actions=np.stack(actions),
            rewards=np.array(rewards),
            terminations=np.array(terminations),
            truncations=np.array(truncations),
            successes=np.array(successes),
            task=self.task,
            instruction=self.instruction,
            seed=self.seed,
            frames=np.stack(self._frames) if self._frames else None,
            policy=self.policy,
        )


def save_episodes(path: str | Path, episodes: Sequence[EpisodeRecord]) -> None:
    """Write `[N]` episodes to one compressed NPZ file; they may differ in every shape.

    Raises:
        ValueError: If there are none.
    """
    if not episodes:
        raise ValueError("episodes=[]: there is nothing to write")
    arrays: dict[str, npt.NDArray[np.generic]] = {"format": np.array(FORMAT)}
    for index, episode in enumerate(episodes):
        for name in _ARRAYS:
            arrays[f"{index}/{name}"] = getattr(episode, name)
        if episode.frames is not None:
            arrays[f"{index}/frames"] = episode.frames
        seed = "" if episode.seed is None else str(episode.seed)
        arrays[f"{index}/texts"] = np.array(
            [episode.task, episode.instruction, seed, episode.policy]
        )
    with Path(path).open("wb") as file:
        # Stubs give `savez_compressed` a second keyword beside the arrays.
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_episodes(path: str | Path) -> list[EpisodeRecord]:
    """Read `[N]` episodes from an NPZ file, or from all those in a directory by name.

    Raises:
        ValueError: If there are none, or a file is not of `save_episodes`.
    """
    path = Path(path)
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    episodes = [episode for file in files for episode in _read(file)]
    if not episodes:
        raise ValueError(f"path={path} holds no episodes: there is no .npz file in it")
    return episodes


def _read(path: Path) -> Iterable[EpisodeRecord]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"path={path} cannot be read as an NPZ file: {error}") from error
    if int(arrays.pop("format", np.array(0))) != FORMAT:
        raise ValueError(f"path={path} was not written by save_episodes")
    for index in range(sum(name.endswith("/texts") for name in arrays)):
        task, instruction, seed, policy = (str(text) for text in arrays[f"{index}/texts"])
        yield EpisodeRecord(
            **{name: arrays[f"{index}/{name}"] for name in _ARRAYS},
            task=task,
            instruction=instruction,
            seed=int(seed) if seed else None,
            frames=arrays.get(f"{index}/frames"),
            policy=policy,
        )
