"""What the agents need of a `VecEnv`: one correction, its update, actions, finite rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor

from wmrl_gym.agents.bridge import VectorEnvBridge
from wmrl_gym.errors import UnsupportedEnvironmentError


def bridged(env: Any) -> Any:
    """`env` itself, or a monitored `VectorEnvBridge` around it if it is a vector environment."""
    return VecMonitor(VectorEnvBridge(env)) if isinstance(env, VectorEnv) else env


def is_corrected(env: VecEnv) -> bool:
    """Whether a world-model reward wrapper is somewhere in `env`."""
    return bool(env.has_attr("correction"))


def require_one_correction(env: VecEnv) -> None:
    """Refuse sub-environments that each have a reward wrapper of their own.

    Each would fit its own map to its own few pairs, and the members of one group, in
    different sub-environments, would be scored on different scales.

    Raises:
        UnsupportedEnvironmentError: If there is more than one correction.
    """
    if not is_corrected(env):
        return
    count = len({id(correction) for correction in env.get_attr("correction")})
    if count > 1:
        raise UnsupportedEnvironmentError(
            f"the {env.num_envs} sub-environments of {env_name(env)} have {count} separate "
            "corrections: make a gymnasium vector environment of the unwrapped sub-environments "
            "and wrap that in one WorldModelRewardVectorWrapper"
        )


def update_correction(env: VecEnv, logger: Logger) -> None:
    """Call `update()` of the reward wrapper once, if there is one, and log what it returns."""
    if not is_corrected(env):
        return
    (diagnostics,) = env.env_method("update", indices=[0])
    for name, value in diagnostics.items():
        logger.record(f"wmrl/{name}", value)


def executable(
    actions: th.Tensor, policy: BasePolicy, action_space: spaces.Space[Any]
) -> NDArray[Any]:
    """What to execute for actions that a policy drew: within the bounds of the action space.

    Args:
        actions: `[num_envs, ...]` actions of the policy.
        policy: The policy that drew them.
        action_space: Space of a single action.

    Returns:
        `[num_envs, ...]` actions for `VecEnv.step`.
    """
    array: NDArray[Any] = actions.cpu().numpy()
    if not isinstance(action_space, spaces.Box):
        return array
    if policy.squash_output:
        return np.asarray(policy.unscale_action(array))
    return np.asarray(np.clip(array, action_space.low, action_space.high))


def require_finite_rewards(rewards: NDArray[np.float32], env: VecEnv) -> None:
    """Stop before a reward that is not finite turns all parameters into NaN.

    Args:
        rewards: `[num_envs]` rewards of one step.
        env: Where they come from; named in the error.

    Raises:
        UnsupportedEnvironmentError: If a reward is NaN or infinite.
    """
    bad = np.flatnonzero(~np.isfinite(rewards))
    if bad.size:
        raise UnsupportedEnvironmentError(
            f"{env_name(env)} gave reward={rewards[bad[0]]} in sub-environment {bad[0]}; a step "
            "without a score has the reward 0 and info['wmrl/valid']=False"
        )


def env_name(env: VecEnv) -> str:
    """What to call an environment in an error."""
    base = env.unwrapped
    if isinstance(base, VectorEnvBridge):
        inner = base.env.unwrapped
        # By itself, a vector environment without a specification does not say of what it is one.
        return (
            f"{base.env} of {inner.envs[0]}" if isinstance(inner, SyncVectorEnv) else str(base.env)
        )
    if isinstance(base, DummyVecEnv):
        return str(base.envs[0])
    return type(base).__name__
