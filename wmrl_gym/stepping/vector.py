"""The lanes of an engine as a vector environment: autoreset, masks and infos as gymnasium's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import error
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from wmrl_gym.stepping.lanes import Start, Transition
from wmrl_gym.stepping.stepper import AnchoredStepper


class VectorStepping:
    """Resets and steps all lanes, in the autoreset mode of their vector environment.

    Args:
        env: The vector environment whose sub-environments are the lanes.
        stepper: The engine; it does the stepping, `env` is not stepped itself.
    """

    def __init__(self, env: SyncVectorEnv | AsyncVectorEnv, stepper: AnchoredStepper) -> None:
        self._env = env
        self._stepper = stepper
        self._mode = env.metadata["autoreset_mode"]
        self._rows: list[Any] = [None] * env.num_envs
        self._done = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(
        self,
        seeds: Sequence[int | None],
        options: Mapping[str, Any] | None,
        groups: Sequence[int | None],
        mask: NDArray[np.bool_],
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the lanes of `mask`.

        Args:
            seeds: `[num_envs]` seed of each lane.
            options: Options of all lanes.
            groups: `[num_envs]` group of each lane, `None` for one of its own.
            mask: `[num_envs]` which lanes to reset.
        """
        chosen = [int(lane) for lane in np.flatnonzero(mask)]
        starts = {
            lane: Start(seeds[lane], _options(options, groups[lane]), groups[lane])
            for lane in chosen
        }
        infos: dict[str, Any] = {}
        for lane, (observation, info) in self._stepper.reset(starts).items():
            self._rows[lane] = observation
            infos = self._env._add_info(infos, info, lane)
        self._done &= ~mask
        return self._observations(), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all lanes; those that the mode resets in this step take no action.

        Raises:
            ResetNeeded: If a lane has ended and nobody has reset it (`DISABLED`).
        """
        dummy = self._dummies()
        each = list(iterate(self._env.action_space, actions))
        live = [lane for lane in range(len(each)) if not dummy[lane]]
        steps = self._stepper.step({lane: each[lane] for lane in live})
        ended = [lane for lane, step in steps.items() if step.terminated or step.truncated]
        again = ended if self._mode is AutoresetMode.SAME_STEP else np.flatnonzero(dummy).tolist()
        starts = self._stepper.reset({lane: Start() for lane in again})
        infos = self._lay_out(steps, starts)
        self._done = np.isin(np.arange(len(each)), ended)
        return (self._observations(), *_columns(steps, len(each)), infos)

    def _dummies(self) -> NDArray[np.bool_]:
        """`[num_envs]` which lanes the next step only resets."""
        if self._mode is AutoresetMode.DISABLED and self._done.any():
            raise error.ResetNeeded(
                f"sub-environments {np.flatnonzero(self._done).tolist()} have ended: reset them "
                "by options={'reset_mask': ...} before the next step"
            )
        return self._done if self._mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._done)

    def _lay_out(
        self,
        steps: Mapping[int, Transition],
        starts: Mapping[int, tuple[Any, dict[str, Any]]],
    ) -> dict[str, Any]:
        """Keep the observations that come next, and batch the infos in the order of the lanes."""
        infos: dict[str, Any] = {}
        for lane in range(self._env.num_envs):
            step, start = steps.get(lane), starts.get(lane)
            if step is not None and start is not None:
                final = {"final_obs": step.observation, "final_info": step.info}
                infos = self._env._add_info(infos, final, lane)
            if start is not None:
                self._rows[lane], info = start
            elif step is not None:
                self._rows[lane], info = step.observation, step.info
            infos = self._env._add_info(infos, info, lane)
        return infos

    def _observations(self) -> Any:
        space = self._env.single_observation_space
        empty: Any = create_empty_array(space, n=self._env.num_envs)
        return concatenate(space, self._rows, empty)


def _options(options: Mapping[str, Any] | None, group: int | None) -> dict[str, Any] | None:
    """The options of one lane: its own group in the place of all groups."""
    if options is None:
        return None
    own = {key: value for key, value in options.items() if key not in ("reset_mask", "group")}
    return own if group is None else {**own, "group": group}


def _columns(
    steps: Mapping[int, Transition], count: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """`[count]` rewards, terminations and truncations; 0 and False in lanes without a step."""
    rewards = np.zeros(count, dtype=np.float64)
    terminations, truncations = np.zeros((2, count), dtype=np.bool_)
    for lane, step in steps.items():
        rewards[lane] = step.reward
        terminations[lane], truncations[lane] = step.terminated, step.truncated
    return rewards, terminations, truncations
