"""The vector twin of `RecordTrajectories`: one line for each episode of each sub-environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from wmrl_gym.interchange.json_values import to_json_value
from wmrl_gym.interchange.recording import EpisodeWriter, OpenEpisode


class RecordTrajectoriesVector(VectorWrapper[Any, Any, Any, Any, Any]):
    """Appends every episode of every sub-environment to a file of JSON Lines.

    The lines are those of `RecordTrajectories`, with the index of the sub-environment as
    `slot`. All autoreset modes work: the dummy steps of `NEXT_STEP` are no steps here, and
    in `SAME_STEP` an episode ends with its own last observation. Wrap it around the reward
    wrapper to record the `wmrl/` keys.

    Args:
        env: Any vector environment.
        path: File to append to; made with the directories above it.

    Raises:
        ValueError: If nothing can be appended at `path`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], path: str | os.PathLike[str]) -> None:
        super().__init__(env)
        self._writer = EpisodeWriter(os.fspath(path), env.spec)
        self._episodes: list[OpenEpisode | None] = [None] * env.num_envs

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`."""
        given = dict(options or {})
        # Read first: the vector environment may pop it from the caller's dict.
        mask = np.array(given.pop("reset_mask", np.ones(self.num_envs)), dtype=np.bool_)
        seeds = _seeds(seed, self.num_envs)
        reset = [slot for slot in range(self.num_envs) if mask[slot]]
        for slot in reset:
            self._flush(slot)
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]  # a list is fine
        rows = list(iterate(self.observation_space, observations))
        for slot in reset:
            self._open(slot, rows[slot], infos, seed=seeds[slot], options=_own(given, slot, rows))
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments, and write the episodes that end."""
        taken = [to_json_value(action) for action in iterate(self.action_space, actions)]
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        rows = list(iterate(self.observation_space, observations))
        same_step = self.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP
        done = np.logical_or(terminations, truncations)
        for slot, episode in enumerate(self._episodes):
            if episode is None:
                self._open_dummy(slot, rows[slot], infos)
                continue
            replaced = same_step and bool(done[slot])
            observation = infos["final_obs"][slot] if replaced else rows[slot]
            info = _of_slot(infos["final_info"] if replaced else infos, slot)
            episode.add(
                taken[slot],
                observation,
                rewards[slot],
                terminations[slot],
                truncations[slot],
                info,
            )
            if episode.ended:
                self._flush(slot)
            if replaced:
                self._open(slot, rows[slot], infos)
        return observations, rewards, terminations, truncations, infos

    def close(self, **kwargs: Any) -> None:
        """Write what was left open and close the environment."""
        for slot in range(self.num_envs):
            self._flush(slot)
        self.env.close(**kwargs)

    def _open_dummy(self, slot: int, observation: Any, infos: Mapping[str, Any]) -> None:
        """Open what the dummy step of `NEXT_STEP` has reset; in `DISABLED` nobody has."""
        if self.metadata.get("autoreset_mode") is not AutoresetMode.DISABLED:
            self._open(slot, observation, infos)

    def _open(
        self, slot: int, observation: Any, infos: Mapping[str, Any], **arguments: Any
    ) -> None:
        info = _of_slot(infos, slot)
        self._episodes[slot] = self._writer.open(observation, info, slot=slot, **arguments)

    def _flush(self, slot: int) -> None:
        episode, self._episodes[slot] = self._episodes[slot], None
        self._writer.write(episode)


def _seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> Sequence[int | None]:
    """The seed of each sub-environment, as vector environments hand them out."""
    if seed is None:
        return [None] * num_envs
    return [seed + i for i in range(num_envs)] if isinstance(seed, int | np.integer) else seed


def _own(options: Mapping[str, Any], slot: int, rows: Sequence[Any]) -> dict[str, Any]:
    """The options with the group of this sub-environment, if each has its own."""
    group = options.get("group")
    if isinstance(group, Sequence | np.ndarray) and len(group) == len(rows):
        return {**options, "group": group[slot]}
    return dict(options)


def _of_slot(infos: Mapping[str, Any], slot: int) -> dict[str, Any]:
    """The `info` of one sub-environment, which a vector environment lays out as arrays."""
    present = {key: infos[key] for key in infos if not _is_mask(key, infos)}
    own = {}
    for key, value in present.items():
        mask: NDArray[np.bool_] | None = infos.get(f"_{key}")
        if key not in ("final_obs", "final_info") and (mask is None or mask[slot]):
            own[key] = _of_slot(value, slot) if isinstance(value, Mapping) else value[slot]
    return own


def _is_mask(key: str, infos: Mapping[str, Any]) -> bool:
    return key.startswith("_") and key[1:] in infos
