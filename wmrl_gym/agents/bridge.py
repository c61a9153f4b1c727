"""A stable-baselines3 `VecEnv` around a Gymnasium vector environment.

Stable-baselines3 steps its sub-environments one by one. `VectorEnvBridge` hands all actions
to a vector environment in one call instead, so that one batched execution or prediction
serves all of them. Apart from that it behaves as `DummyVecEnv` does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from wmrl_gym.agents.infos import unbatch_infos
from wmrl_gym.agents.vector_access import VectorAccess
from wmrl_gym.errors import UnsupportedEnvironmentError


class VectorEnvBridge(VecEnv):
    """Lets stable-baselines3 train on a `gymnasium.vector.VectorEnv`.

    Infos become one dict for each sub-environment. Where an episode ends they hold the infos
    of the last step (not those of the reset), `terminal_observation` and
    `TimeLimit.truncated`; the infos of the reset are in `reset_infos`.

    An attribute or method that the vector environment or one of its vector wrappers has
    itself (`correction` and `update`, say) is one for all: `get_attr` repeats the one
    object, and `env_method` calls the method once and repeats its result. All others are
    those of the sub-environments; calling a method of only some of them needs a
    `SyncVectorEnv`.

    `env_method("reset", seed=..., options=..., indices=[...])` starts new episodes in these
    sub-environments, all with the same seed and options, and returns their
    `(observation, info)`; it needs `AutoresetMode.DISABLED`.

    Args:
        env: A vector environment whose `metadata["autoreset_mode"]` is `SAME_STEP` or
            `DISABLED`, wrapped or not. Under `DISABLED`, sub-environments are reset by mask
            as soon as their episode ends, as a `VecEnv` does.

    Raises:
        UnsupportedEnvironmentError: If the autoreset mode is another one. The dummy steps of
            `NEXT_STEP` would be trained on as if the agent had taken them.

    Examples:
        >>> import gymnasium as gym
        >>> env = gym.make_vec(
        ...     "CartPole-v1",
        ...     num_envs=2,
        ...     vectorization_mode="sync",
        ...     vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP},
        ... )
        >>> VectorEnvBridge(env).reset().shape
        (2, 4)
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env = env
        self.autoreset_mode = _autoreset_mode(env)
        self.leaves_resets = False
        """Under `DISABLED`, leave sub-environments whose episode ended for `env_method("reset")`:
        who starts every episode itself would reset them twice."""
        self._access = VectorAccess(env)
        self._actions: Any = None
        self._started = False
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Reset all sub-environments with the seeds and options set before, which is done once."""
        observations, infos = self.env.reset(
            seed=_compact(self._seeds),  # type: ignore[arg-type]  # lists are fine, the stub lags
            options=self._common_options(),
        )
        self._started = True
        self.reset_infos = unbatch_infos(infos, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return copy.deepcopy(observations)

    def step_async(self, actions: Any) -> None:
        """Keep the batch of actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step all sub-environments by one call.

        Returns:
            Observations, where an episode ended the first one of the next; `[num_envs]`
            float32 rewards; `[num_envs]` bool, whether an episode ended; `[num_envs]` infos.
        """
        observations, rewards, terminated, truncated, infos = self.env.step(self._actions)
        # A vector environment may hand out its own buffers (`copy=False`).
        observations = copy.deepcopy(observations)
        ended = np.logical_or(terminated, truncated)
        separate = unbatch_infos(_without_final(infos), self.num_envs)
        if ended.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            separate = self._final_infos(separate, infos, ended)
        elif ended.any():
            observations = self._next_episodes(observations, separate, ended)
        for i, info in enumerate(separate):
            info["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, np.asarray(rewards, dtype=np.float32), ended, separate

    def close(self) -> None:
        """Close the vector environment."""
        self.env.close()

    def get_images(self) -> Sequence[Any]:
        """Render every sub-environment."""
        frames = self.env.render()
        return [None] * self.num_envs if frames is None else list(frames)

    def has_attr(self, attr_name: str) -> bool:
        """Whether the vector environment or all sub-environments have an attribute."""
        return self._access.has(attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the vector environment, repeated, or those of sub-environments."""
        return self._access.get(attr_name, list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute where `get_attr` finds it."""
        self._access.set(attr_name, value, list(self._get_indices(indices)))

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment once, or those of sub-environments."""
        chosen = list(self._get_indices(indices))
        if method_name == "reset":
            return self._reset_some(chosen, *method_args, **method_kwargs)
        return self._access.call(method_name, chosen, *method_args, **method_kwargs)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """False for each: wrappers of sub-environments may be in other processes."""
        return [False for _ in self._get_indices(indices)]

    def _final_infos(
        self,
        separate: list[dict[str, Any]],
        infos: Mapping[str, Any],
        ended: NDArray[np.bool_],
    ) -> list[dict[str, Any]]:
        """Infos of `SAME_STEP`, where the top level has those of the reset."""
        last = unbatch_infos(infos.get("final_info", {}), self.num_envs)
        result = list(separate)
        for i in np.flatnonzero(ended):
            self.reset_infos[i] = separate[i]
            terminal = copy.deepcopy(infos["final_obs"][i])
            result[i] = {**last[i], "terminal_observation": terminal}
        return result

    def _next_episodes(
        self, observations: Any, separate: list[dict[str, Any]], ended: NDArray[np.bool_]
    ) -> Any:
        """Reset what has ended under `DISABLED`; gives the observations to act on."""
        rows = self._rows(observations)
        for i in np.flatnonzero(ended):
            separate[i]["terminal_observation"] = copy.deepcopy(rows[i])
        if self.leaves_resets:
            return observations
        firsts, infos = self._masked_reset(ended, seed=None, options={})
        for i in np.flatnonzero(ended):
            self.reset_infos[i] = infos[i]
            rows[i] = firsts[i]
        space = self.env.single_observation_space
        empty: Any = create_empty_array(space, n=self.num_envs)
        return concatenate(space, rows, empty)

    def _reset_some(
        self,
        chosen: list[int],
        *,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[tuple[Any, dict[str, Any]]]:
        if self.autoreset_mode is not AutoresetMode.DISABLED:
            raise UnsupportedEnvironmentError(
                f"resetting a part of {self.env} needs autoreset_mode=AutoresetMode.DISABLED, "
                f"but it has {self.autoreset_mode}"
            )
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[chosen] = True
        if not self._started and not mask.all():
            # A vector environment cannot batch observations that it does not have yet.
            self.reset()
        self._started = True
        rows, infos = self._masked_reset(mask, seed=seed, options=options or {})
        for i in chosen:
            self.reset_infos[i] = infos[i]
        return [(rows[i], infos[i]) for i in chosen]

    def _masked_reset(
        self, mask: NDArray[np.bool_], *, seed: int | None, options: Mapping[str, Any]
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        seeds = None if seed is None else [int(seed) if chosen else None for chosen in mask]
        observations, infos = self.env.reset(
            seed=seeds,  # type: ignore[arg-type]  # lists are fine, the stub lags
            options={**options, "reset_mask": mask.copy()},
        )
        return self._rows(copy.deepcopy(observations)), unbatch_infos(infos, self.num_envs)

    def _rows(self, observations: Any) -> list[Any]:
        return list(iterate(self.env.observation_space, observations))

    def _common_options(self) -> dict[str, Any] | None:
        if any(options != self._options[0] for options in self._options):
            raise ValueError(
                f"set_options(options={self._options}) must be the same for all sub-environments "
                "of a vector environment; use env_method('reset', options=..., indices=...)"
            )
        return dict(self._options[0]) or None


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        raise UnsupportedEnvironmentError(
            f"{env} has autoreset_mode={mode}; stable-baselines3 needs one with "
            "autoreset_mode=AutoresetMode.SAME_STEP or AutoresetMode.DISABLED"
        )
    return AutoresetMode(mode)


def _compact(seeds: Sequence[int | None]) -> int | list[int | None] | None:
    """`s, s + 1, ...` as the int `s`: some vector environments take nothing else."""
    first = seeds[0]
    if first is not None and all(seed == first + i for i, seed in enumerate(seeds)):
        return int(first)
    if all(seed is None for seed in seeds):
        return None
    return [None if seed is None else int(seed) for seed in seeds]


def _without_final(infos: Mapping[str, Any]) -> dict[str, Any]:
    final = ("final_obs", "_final_obs", "final_info", "_final_info")
    return {key: value for key, value in infos.items() if key not in final}
