"""The reward wrapper for a single environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.wrappers.anchoring import make_anchored_executor


class WorldModelRewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replaces most real executions of an environment by a world model's prediction.

    One group of episodes in ten, say, is an anchor: executed for real and predicted. The
    others are only predicted. `update()`, called between batches, fits the map that recasts
    predictions and the weight that anchors deserve; `info["wmrl/weight"]` is for the
    trainer's loss, never for the reward. The agents of `wmrl_gym.agents` do both.

    The group of an episode comes from `reset(options={"group": g})`; without it, each
    episode is a group of its own. The dynamics of the environment are left alone.

    Args:
        env: An environment with an executor (`ExecutionEnv`), wrapped or not.
        world_model: Name of a world model, `"package.module:factory"`, or a `WorldModel`.
            An object works, but does not survive the environment's specification.
        anchor_fraction: Share of groups that are anchors, in `[0, 1]`.
        seed: Decides which groups are anchors, with nothing else but the group's id.
        correction_options: Further arguments of `RewardCorrection`.
        first_group: Id of the first episode without an explicit group.
        group_stride: Distance between such ids. Worker `i` of `n` takes `first_group=i,
            group_stride=n`, so that no two workers give out the same id.

    Raises:
        UnsupportedEnvironmentError: If `env` has no executor or is wrapped so already.
        ValueError: If an argument is out of its range.

    Example:
        >>> import gymnasium as gym
        >>> import wmrl_gym
        >>> env = gym.make("WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"])
        >>> env = wmrl_gym.WorldModelRewardWrapper(env, anchor_fraction=0.1)
        >>> observation, info = env.reset(seed=1, options={"group": 7})
        >>> info["wmrl/group"], info["wmrl/source"]
        (7, 0)
        >>> env.close()
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        world_model: str | WorldModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
        first_group: int = 0,
        group_stride: int = 1,
    ) -> None:
        base = env.unwrapped
        if not isinstance(base, ExecutionEnv):
            raise UnsupportedEnvironmentError(
                f"env={env} has no executor: {type(base).__name__} is not an ExecutionEnv"
            )
        # Before anything is changed, so that a wrong argument leaves `env` as it was.
        anchored = make_anchored_executor(
            base.executor,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            bounds=base.score_bounds,
            options=correction_options,
            first_group=first_group,
            group_stride=group_stride,
        )
        RecordConstructorArgs.__init__(
            self,
            # A world model object may hold a process or a GPU: never copy it for a spec.
            _disable_deepcopy=True,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            correction_options=correction_options,
            first_group=first_group,
            group_stride=group_stride,
        )
        gym.Wrapper.__init__(self, env)
        self.anchored = anchored
        base.executor = anchored

    @property
    def correction(self) -> RewardCorrection:
        """The anchors, the map and the weight in use."""
        return self.anchored.correction

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and open an episode.

        Args:
            seed: Passed on.
            options: Passed on; `options["group"]` is the group of the episode.
        """
        group = None if options is None else options.get("group")
        observation, info = self.env.reset(seed=seed, options=options)
        self.anchored.begin(0, group)
        return observation, {**info, **self.anchored.info(0)}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, whose executor is now the anchored one."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, **self.anchored.info(0)}
        if terminated or truncated:
            self.anchored.finish(0)
        return observation, reward, terminated, truncated, info

    def update(self) -> dict[str, float]:
        """Feed the anchors back; call it between batches. See `AnchoredExecutor.update`."""
        return self.anchored.update()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs: pairs, map, weight, world model, counters."""
        return self.anchored.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.anchored.load_state_dict(state)
