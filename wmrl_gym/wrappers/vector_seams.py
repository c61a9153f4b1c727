"""Where a vector environment lets its rewards be replaced: at its executor, or at its `step`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.stepping import AsyncLanes, LocalLanes, VectorStepping
from wmrl_gym.wrappers.batched_execution import BatchedExecution, require_fresh_text, reset_mask

Groups = int | Sequence[int] | None
"""One group, or none, for all sub-environments, or `[num_envs]` groups."""


class VectorSeam(Protocol):
    """Resets and steps a vector environment whose rewards are replaced."""

    def reset(
        self, seed: int | list[int | None] | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`, and open episodes."""
        ...

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments."""
        ...


class ExecutionVectorSeam:
    """Sub-environments whose batched executions are anchored: they step as ever.

    Args:
        env: The vector environment; one of its layers is a `BatchedExecution`.
        anchored: The executor of that layer.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], anchored: AnchoredExecutor) -> None:
        self._env = env
        self._anchored = anchored
        self._done = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(
        self, seed: int | list[int | None] | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset sub-environments, and open an episode in each."""
        count = self._env.num_envs
        mask = reset_mask(options, count)
        groups = _groups(options, count)
        observations, infos = self._env.reset(seed=seed, options=options)  # type: ignore[arg-type]  # a list is fine
        self._done &= ~mask
        for slot in np.flatnonzero(mask):
            self._anchored.begin(int(slot), groups[slot])
        opened = [self._anchored.info(i) if mask[i] else None for i in range(count)]
        return observations, {**infos, **_batch(opened)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments; `info` is laid out as their own is in each mode."""
        mode = self._env.metadata["autoreset_mode"]
        observations, rewards, terminations, truncations, infos = self._env.step(actions)
        dummy = self._done if mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._done)
        for slot in np.flatnonzero(dummy):
            self._anchored.begin(int(slot))
        done = np.logical_or(terminations, truncations)
        stepped = [self._anchored.info(slot) for slot in range(self._env.num_envs)]
        for slot in np.flatnonzero(done):
            self._anchored.finish(int(slot))
        self._done = done
        infos = {**infos, **_batch(stepped)}
        if mode is AutoresetMode.SAME_STEP and done.any():
            infos = self._same_step(infos, stepped, done)
        return observations, rewards, terminations, truncations, infos

    def _same_step(
        self, infos: dict[str, Any], stepped: Sequence[dict[str, Any]], done: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Move what the ended episodes say to `final_info`; the top level tells of the new ones."""
        slots = range(self._env.num_envs)
        ended = [stepped[i] if done[i] else None for i in slots]
        for slot in np.flatnonzero(done):
            self._anchored.begin(int(slot))
        current = [self._anchored.info(i) if done[i] else stepped[i] for i in slots]
        return {**infos, **_batch(current), "final_info": {**infos["final_info"], **_batch(ended)}}


class SteppingVectorSeam:
    """Sub-environments that are stepped for real on anchors only.

    Args:
        env: The vector environment, which is not stepped as a whole any more.
        stepping: Steps its sub-environments, or imagines their steps.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], stepping: VectorStepping) -> None:
        self._count = env.num_envs
        self._stepping = stepping

    def reset(
        self, seed: int | list[int | None] | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset sub-environments, and open an episode in each."""
        mask = reset_mask(options, self._count)
        if mask.shape != (self._count,) or not mask.any():
            raise ValueError(
                f"options['reset_mask']={mask} must be {self._count} booleans, one at least True"
            )
        groups = _groups(options, self._count)
        return self._stepping.reset(_seeds(seed, self._count), options, groups, mask)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments, for real or in imagination."""
        return self._stepping.step(actions)


def batched_execution(env: VectorEnv[Any, Any, Any]) -> BatchedExecution | None:
    """The layer of `env` that executes in batches, if there is one."""
    while isinstance(env, VectorWrapper):
        if isinstance(env, BatchedExecution):
            return env
        env = env.env
    return None


def has_executor(env: VectorEnv[Any, Any, Any]) -> bool:
    """Whether the sub-environments have executors."""
    base = env.unwrapped
    if isinstance(base, SyncVectorEnv):
        return base.envs[0].has_wrapper_attr("proposal")
    return isinstance(base, AsyncVectorEnv) and bool(base.call("has_wrapper_attr", "proposal")[0])


def reachable(env: VectorEnv[Any, Any, Any]) -> SyncVectorEnv | AsyncVectorEnv:
    """`env` itself, if its sub-environments can be stepped one by one.

    Raises:
        UnsupportedEnvironmentError: If it is of another class, or wrapped.
    """
    if env is not env.unwrapped:
        raise UnsupportedEnvironmentError(
            f"env={env} is wrapped, if not in a WorldModelReward wrapper already: only anchors are "
            "really stepped, which wrappers below would not notice; put them around this one"
        )
    if not isinstance(env, SyncVectorEnv | AsyncVectorEnv):
        raise UnsupportedEnvironmentError(
            f"env={env} is neither a SyncVectorEnv nor an AsyncVectorEnv, so that its "
            "sub-environments cannot be stepped one by one: make it by gymnasium.make_vec(..., "
            "vectorization_mode='sync')"
        )
    require_fresh_text(env)
    return env


def lanes_of(env: SyncVectorEnv | AsyncVectorEnv) -> LocalLanes | AsyncLanes:
    """The sub-environments, one by one."""
    return LocalLanes.of(env) if isinstance(env, SyncVectorEnv) else AsyncLanes(env)


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """The seed of each sub-environment, as gymnasium spreads them."""
    if seed is None or isinstance(seed, int | np.integer):
        return [None if seed is None else int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise ValueError(f"seed has {len(seed)} entries for {count} environments")
    return [None if one is None else int(one) for one in seed]


def _groups(options: dict[str, Any] | None, count: int) -> list[int | None]:
    """The group of each sub-environment, `None` for one of its own."""
    group: Groups = None if options is None else options.get("group")
    if group is None or isinstance(group, int | np.integer):
        return [None if group is None else int(group)] * count
    if len(group) != count:
        raise ValueError(f"options['group'] has {len(group)} entries for {count} environments")
    return [int(g) for g in group]


def _batch(infos: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    """Arrays and masks, as a vector environment lays out the `info`s of its parts."""
    mask = np.array([info is not None for info in infos], dtype=np.bool_)
    first = next((info for info in infos if info is not None), {})
    batch: dict[str, Any] = {}
    for key, value in first.items():
        array = np.zeros(len(infos), dtype=type(value))
        array[mask] = [info[key] for info in infos if info is not None]
        batch[key] = array
        batch[f"_{key}"] = mask.copy()
    return batch
