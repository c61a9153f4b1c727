"""The reward wrapper for a vector environment: one batched prediction per step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.wrappers.anchoring import make_anchored_executor
from wmrl_gym.wrappers.batched_execution import BatchedExecution, reset_mask


class WorldModelRewardVectorWrapper(VectorWrapper[Any, Any, Any, Any, Any]):
    """The vector twin of `WorldModelRewardWrapper`, equal to it step by step.

    All sub-environments share one world model and one correction. Each step is one batched
    prediction and one batch of real executions. The environment may run in any autoreset
    mode, and in other processes.

    `reset(options={"group": g})` takes one group for all sub-environments that it resets, or
    a sequence of `num_envs` groups. An episode without a group of its own (after an
    autoreset, say) is a group of one; sub-environment `i` gives its `k`-th such episode the
    id `i + k * num_envs`.

    Args:
        env: A vector environment of `ExecutionEnv`s. A vector wrapper never appears in a
            specification: make it again after `gymnasium.make_vec`.
        world_model: As in `WorldModelRewardWrapper`.
        anchor_fraction: Share of groups that are anchors, in `[0, 1]`.
        seed: Decides which groups are anchors, with nothing else but the group's id.
        correction_options: Further arguments of `RewardCorrection`.

    Raises:
        UnsupportedEnvironmentError: If the sub-environments have no executor, or `env` is
            wrapped so already.
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        world_model: str | WorldModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
    ) -> None:
        batched = _batched_execution(env)
        if batched is None:
            env = batched = BatchedExecution(env)
        super().__init__(env)
        self.anchored = make_anchored_executor(
            batched.executor,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            bounds=batched.get_attr("score_bounds")[0],
            options=correction_options,
            slots=env.num_envs,
        )
        batched.executor = self.anchored
        self._batched = batched
        self._done = np.zeros(env.num_envs, dtype=np.bool_)

    @property
    def correction(self) -> RewardCorrection:
        """The anchors, the map and the weight in use, for all sub-environments."""
        return self.anchored.correction

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`, and open episodes."""
        mask = reset_mask(options, self.num_envs)
        groups = _groups(None if options is None else options.get("group"), self.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]  # a list is fine
        self._done &= ~mask
        for slot in np.flatnonzero(mask):
            self.anchored.begin(int(slot), groups[slot])
        opened = [self.anchored.info(i) if mask[i] else None for i in range(self.num_envs)]
        return observations, {**infos, **_batch(opened)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments; `info` is laid out as their own is in each mode."""
        mode = self.metadata["autoreset_mode"]
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        dummy = self._done if mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._done)
        for slot in np.flatnonzero(dummy):
            self.anchored.begin(int(slot))
        done = np.logical_or(terminations, truncations)
        stepped = [self.anchored.info(slot) for slot in range(self.num_envs)]
        for slot in np.flatnonzero(done):
            self.anchored.finish(int(slot))
        self._done = done
        infos = {**infos, **_batch(stepped)}
        if mode is AutoresetMode.SAME_STEP and done.any():
            infos = self._same_step(infos, stepped, done)
        return observations, rewards, terminations, truncations, infos

    def update(self) -> dict[str, float]:
        """Feed the anchors back; call it between batches. See `AnchoredExecutor.update`."""
        return self.anchored.update()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs: pairs, map, weight, world model, counters."""
        return self.anchored.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.anchored.load_state_dict(state)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every sub-environment."""
        return self._batched.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Get an attribute of every sub-environment."""
        return self._batched.get_attr(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every sub-environment."""
        self._batched.set_attr(name, values)

    def _same_step(
        self, infos: dict[str, Any], stepped: Sequence[dict[str, Any]], done: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Move what the ended episodes say to `final_info`; the top level tells of the new ones."""
        ended = [stepped[i] if done[i] else None for i in range(self.num_envs)]
        for slot in np.flatnonzero(done):
            self.anchored.begin(int(slot))
        current = [self.anchored.info(i) if done[i] else stepped[i] for i in range(self.num_envs)]
        return {**infos, **_batch(current), "final_info": {**infos["final_info"], **_batch(ended)}}


def _batched_execution(env: VectorEnv[Any, Any, Any]) -> BatchedExecution | None:
    """The layer of `env` that executes in batches, if there is one."""
    while isinstance(env, VectorWrapper):
        if isinstance(env, BatchedExecution):
            return env
        env = env.env
    return None


def _groups(group: int | Sequence[int] | None, num_envs: int) -> list[int | None]:
    """One group, or none, for each sub-environment."""
    if group is None or isinstance(group, int | np.integer):
        return [None if group is None else int(group)] * num_envs
    if len(group) != num_envs:
        raise ValueError(f"options['group'] has {len(group)} entries for {num_envs} environments")
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
