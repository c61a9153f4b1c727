"""Starting chosen episodes in chosen sub-environments of a `VecEnv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecEnv,
    VecEnvWrapper,
    VecMonitor,
    VecTransposeImage,
)

from wmrl_gym.agents.bridge import VectorEnvBridge
from wmrl_gym.agents.vec_env import env_name
from wmrl_gym.errors import UnsupportedEnvironmentError


def require_restartable(env: VecEnv) -> None:
    """Refuse an environment in which single episodes cannot be started.

    Raises:
        UnsupportedEnvironmentError: If a vector environment does not leave resets to its
            caller, or a `VecEnvWrapper` changes observations or rewards on their way.
    """
    for wrapper in _wrappers(env):
        if not isinstance(wrapper, VecMonitor | VecCheckNan | VecTransposeImage):
            raise UnsupportedEnvironmentError(
                f"{env_name(env)} is wrapped in {type(wrapper).__name__}, which does not see the "
                "episodes that GRPO starts; use a gymnasium wrapper inside the environment instead"
            )
    base = env.unwrapped
    if isinstance(base, VectorEnvBridge) and base.autoreset_mode is not AutoresetMode.DISABLED:
        raise UnsupportedEnvironmentError(
            f"{base.env} has autoreset_mode={base.autoreset_mode}; GRPO starts each episode "
            "itself: make it with autoreset_mode=AutoresetMode.DISABLED"
        )


def start_episodes(
    env: VecEnv, observations: Any, *, slots: Sequence[int], seed: int, group: int
) -> None:
    """Start the same episode in each of `slots`.

    Args:
        env: Where to start them.
        observations: Batch of observations, an array or a dict of arrays; the rows of `slots`
            are overwritten by the first observations of the new episodes.
        slots: Sub-environments.
        seed: Seed of their reset.
        group: Id of their group, passed as the option `group`.
    """
    starts = env.env_method("reset", seed=seed, options={"group": group}, indices=slots)
    for slot, (first, _) in zip(slots, starts, strict=True):
        # `env_method` goes past the wrappers of `env`.
        for wrapper in _wrappers(env):
            if isinstance(wrapper, VecTransposeImage):
                first = wrapper.transpose_observations(first)
        _write_row(observations, slot, first)


@contextmanager
def own_starts(env: VecEnv) -> Iterator[None]:
    """Keep `env` from starting episodes by itself for as long as the caller starts them all."""
    base = env.unwrapped
    if not isinstance(base, VectorEnvBridge):
        yield
        return
    base.leaves_resets = True
    try:
        yield
    finally:
        base.leaves_resets = False


def _wrappers(env: VecEnv) -> Iterator[VecEnvWrapper]:
    while isinstance(env, VecEnvWrapper):
        yield env
        env = env.venv


def _write_row(observations: Any, slot: int, first: Any) -> None:
    if isinstance(observations, dict):
        for key, batch in observations.items():
            batch[slot] = first[key]
    else:
        observations[slot] = first
