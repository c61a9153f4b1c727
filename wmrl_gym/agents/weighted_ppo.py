"""PPO whose policy loss is weighted by `info["wmrl/weight"]`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.vec_env import VecEnv

from wmrl_gym.agents.vec_env import (
    bridged,
    require_finite_rewards,
    require_one_correction,
    update_correction,
)
from wmrl_gym.agents.weighted_buffer import WeightedDictRolloutBuffer, WeightedRolloutBuffer


class WeightedPPO(PPO):
    """Stable-baselines3's PPO with anchors; an episode is a group of one.

    Each step's `wmrl/weight` multiplies its policy loss, after the advantages are normalised.
    Steps of episodes that end with `wmrl/valid` False, as far as they are in the rollout,
    are left out. The value loss and the entropy bonus have no weights. If the environment has
    a `WorldModelRewardWrapper`, its `update()` is called once at the end of each rollout.

    On an environment without these it is stock PPO, except that advantages are normalised
    once over the whole rollout and not in each minibatch, which would undo the weights.

    Args:
        policy: As in `PPO`.
        env: A `VecEnv`, an environment, an id, or a gymnasium vector environment with
            `autoreset_mode` `SAME_STEP` or `DISABLED`.
        **ppo_arguments: All further arguments of `PPO`, except `normalize_advantage` and
            `rollout_buffer_class`, which are what makes the weights work.

    Raises:
        UnsupportedEnvironmentError: If the vector environment has another autoreset mode, or
            sub-environments have a reward wrapper each.
        ValueError: If one of the two excepted arguments is given.

    Examples:
        >>> model = WeightedPPO("MlpPolicy", "CartPole-v1", n_steps=64, seed=0)
        >>> model.learn(total_timesteps=64).num_timesteps
        64
    """

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: VecEnv | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any] | str | None,
        **ppo_arguments: Any,
    ) -> None:
        for name in ("normalize_advantage", "rollout_buffer_class"):
            if name in ppo_arguments:
                raise ValueError(
                    f"{name}={ppo_arguments[name]} cannot be chosen: WeightedPPO normalises "
                    "advantages itself, over the whole rollout, before it weighs them"
                )
        super().__init__(
            policy,
            env,  # type: ignore[arg-type]  # `_wrap_env` takes vector environments too
            normalize_advantage=False,
            **ppo_arguments,
        )

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Collect one rollout, then update the correction of the environment.

        The rollout itself was scored with one map and one weight, those from before.
        """
        completed = super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        if completed:
            update_correction(env, self.logger)
        return completed

    @staticmethod
    def _wrap_env(env: Any, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        wrapped = BaseAlgorithm._wrap_env(bridged(env), verbose, monitor_wrapper)
        require_one_correction(wrapped)
        return wrapped

    def _setup_model(self) -> None:
        dicts = isinstance(self.observation_space, spaces.Dict)
        self.rollout_buffer_class = WeightedDictRolloutBuffer if dicts else WeightedRolloutBuffer
        super()._setup_model()

    def _init_callback(self, callback: MaybeCallback, progress_bar: bool = False) -> BaseCallback:
        # PPO passes no infos to its buffer, but shows them to callbacks just before it adds a step.
        if callback is None:
            callback = []
        callbacks = callback if isinstance(callback, list) else [callback]
        converted = [c if isinstance(c, BaseCallback) else ConvertCallback(c) for c in callbacks]
        return super()._init_callback([_ReadStep(), *converted], progress_bar)


class _ReadStep(BaseCallback):
    """Checks the rewards of each step and hands its weights to the buffer."""

    def _on_step(self) -> bool:
        require_finite_rewards(self.locals["rewards"], self.training_env)
        self.locals["rollout_buffer"].weigh(self.locals["infos"], self.locals["dones"])
        return True
