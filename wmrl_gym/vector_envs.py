"""Vector environments of the registered ids: each step is one batched execution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_gym.wrappers import BatchedExecution


def make_mle_vec(num_envs: int, **kwargs: Any) -> BatchedExecution:
    """`num_envs` times `WMRL-MLE-v0`; see `batched`."""
    from wmrl_gym.envs.mle.env import MLEEnv

    return batched(MLEEnv, num_envs, **kwargs)


def make_mle_pipeline_vec(num_envs: int, **kwargs: Any) -> BatchedExecution:
    """`num_envs` times `WMRL-MLE-Pipeline-v0`; see `batched`."""
    from wmrl_gym.envs.mle.pipeline_env import MLEPipelineEnv

    return batched(MLEPipelineEnv, num_envs, **kwargs)


def make_synthetic_vec(num_envs: int, **kwargs: Any) -> BatchedExecution:
    """`num_envs` times `WMRL-Synthetic-v0`; see `batched`."""
    from wmrl_gym.envs.synthetic.env import SyntheticEnv

    return batched(SyntheticEnv, num_envs, **kwargs)


def batched(
    make_env: Callable[..., gym.Env[Any, Any]],
    num_envs: int,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **kwargs: Any,
) -> BatchedExecution:
    """Sub-environments in this process whose executions go out together.

    Threads of the executor run the sandboxes, so further processes would gain nothing.

    Args:
        make_env: Class of an `ExecutionEnv`.
        num_envs: Number of sub-environments, at least 1.
        autoreset_mode: `"NextStep"`, `"SameStep"` or `"Disabled"`; GRPO needs `"Disabled"`.
        kwargs: Arguments of each sub-environment.

    Raises:
        ValueError: If `num_envs` or `autoreset_mode` is out of its range.
    """
    if num_envs < 1:
        raise ValueError(f"num_envs={num_envs} must be at least 1")
    # An object of the user's own would be shared by all: every environment gets its own dict.
    factories = [partial(make_env, **kwargs) for _ in range(num_envs)]
    return BatchedExecution(SyncVectorEnv(factories, autoreset_mode=AutoresetMode(autoreset_mode)))
