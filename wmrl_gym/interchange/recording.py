"""A wrapper that writes every episode to a file."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import RecordConstructorArgs

import wmrl_gym
from wmrl_gym.interchange.json_values import to_json_value
from wmrl_gym.interchange.trajectories import SCHEMA, append_line, check_appendable


@dataclass
class OpenEpisode:
    """What is known of an episode that has not ended. Holds JSON, and nothing of the caller's."""

    start: dict[str, Any]
    """Its fields that are known from the reset on."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    _clock: float = field(default_factory=time.monotonic)
    _seconds: float = 0.0

    def add(
        self,
        action: Any,
        observation: Any,
        reward: SupportsFloat,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any],
    ) -> None:
        """Add a step."""
        step = {
            "action": to_json_value(action),
            "observation": to_json_value(observation),
            "reward": to_json_value(float(reward)),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "info": to_json_value(info),
        }
        self.steps.append(step)
        self.ended = bool(terminated or truncated)
        self._seconds = time.monotonic() - self._clock

    def fields(self) -> dict[str, Any]:
        """The line of the episode as it stands now."""
        return {
            **self.start,
            "finished": self.ended,
            "seconds": round(self._seconds, 6),
            "steps": self.steps,
        }


class EpisodeWriter:
    """Numbers the episodes of one recorder and writes them.

    Args:
        path: File to append to; made with the directories above it.
        spec: Specification of what is recorded, if it has one.

    Raises:
        ValueError: If nothing can be appended at `path`.
    """

    def __init__(self, path: str, spec: EnvSpec | None) -> None:
        check_appendable(path)
        # Wherever the process goes: the file stays the one that was asked for.
        self.path = os.path.abspath(path)
        self._started = 0
        self._header = {
            "schema": SCHEMA,
            "version": wmrl_gym.__version__,
            "run": uuid.uuid4().hex[:12],
            **_described(spec),
        }

    def open(
        self,
        observation: Any,
        info: Mapping[str, Any],
        *,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
        slot: int = 0,
    ) -> OpenEpisode:
        """Start an episode."""
        start = {
            **self._header,
            "episode": self._started,
            "slot": slot,
            "seed": None if seed is None else int(seed),
            "options": to_json_value(options or {}),
            "started": datetime.now(UTC).isoformat(),
            "observation": to_json_value(observation),
            "info": to_json_value(info),
        }
        self._started += 1
        return OpenEpisode(start)

    def write(self, episode: OpenEpisode | None) -> None:
        """Append an episode; nothing to do for `None`."""
        if episode is not None:
            append_line(self.path, episode.fields())


class RecordTrajectories(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Appends every episode to a file of JSON Lines, for `read_trajectories` and other tools.

    An episode is written when it ends. One that is left by a `reset` or by `close` is
    written too and marked as unfinished. An episode that is open when the process is killed
    is lost, whatever was written before stays whole.

    What is recorded is what passes through here: above a `WorldModelRewardWrapper` the
    corrected rewards and the `wmrl/` keys, below it what the environment itself says.

    Args:
        env: Any environment. What JSON cannot express in its observations, actions or infos
            is written as text.
        path: File to append to; made with the directories above it. Several runs, and
            several processes at a time, may share one.

    Raises:
        ValueError: If nothing can be appended at `path`.

    Examples:
        >>> import gymnasium as gym, tempfile
        >>> from wmrl_gym.interchange import RecordTrajectories, read_trajectories
        >>> file = tempfile.NamedTemporaryFile(suffix=".jsonl")
        >>> env = RecordTrajectories(gym.make("CartPole-v1"), file.name)
        >>> observation, info = env.reset(seed=1)
        >>> result = env.step(0)
        >>> env.close()
        >>> [episode] = read_trajectories(file.name)
        >>> episode.finished, episode.total_reward, episode.steps[0].observation.dtype
        (False, 1.0, dtype('float32'))
        >>> file.close()
    """

    def __init__(self, env: gym.Env[Any, Any], path: str | os.PathLike[str]) -> None:
        # Before anything is recorded, so that a bad path leaves `env` as it was.
        self._writer = EpisodeWriter(os.fspath(path), env.spec)
        RecordConstructorArgs.__init__(self, path=os.fspath(path))
        gym.Wrapper.__init__(self, env)
        self._episode: OpenEpisode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Write what was left open, reset, and open an episode."""
        self._flush()
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = self._writer.open(observation, info, seed=seed, options=options)
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step, and write the episode if that ends it."""
        # An environment may change the action that it is given.
        action_json = to_json_value(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._episode is not None:
            self._episode.add(action_json, observation, reward, terminated, truncated, info)
            if self._episode.ended:
                self._flush()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Write what was left open and close the environment."""
        self._flush()
        self.env.close()

    def _flush(self) -> None:
        episode, self._episode = self._episode, None
        self._writer.write(episode)


def _described(spec: EnvSpec | None) -> dict[str, Any]:
    if spec is None:
        return {"env_id": None, "env_kwargs": {}, "wrappers": []}
    limit = spec.max_episode_steps
    kwargs = spec.kwargs if limit is None else {**spec.kwargs, "max_episode_steps": limit}
    return {
        "env_id": spec.id,
        "env_kwargs": to_json_value(kwargs),
        "wrappers": [part.name for part in spec.additional_wrappers],
    }
