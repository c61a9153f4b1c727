"""The small policy as a `VLAPolicy`, which can be evaluated and filmed like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_gym.agents.vla.inputs import BINS, inputs_space, to_inputs
from wmrl_gym.envs.vla.actions import ACTION_SIZE
from wmrl_gym.envs.vla.policies import StableBaselinesPolicy, VLAPolicy, read_saved
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import values_of


class Predicts(Protocol):
    """An algorithm of stable-baselines3, or the policy in it."""

    observation_space: gym.Space[Any]

    def predict(self, observation: Any, *, deterministic: bool) -> tuple[Any, Any]:
        """`[B, ...]` actions, and what a recurrent policy remembers."""
        ...


class SmallVLAPolicy:
    """Acts on batches of observations of `WMRL-VLA-v0`.

    Args:
        model: A trained algorithm of stable-baselines3 on what `for_policy` made, or its policy.
        bins: As in `for_policy`.
        deterministic: Whether it takes the likeliest tokens rather than drawing them.
    """

    def __init__(self, model: Predicts, *, bins: int = BINS, deterministic: bool = True) -> None:
        self.model = model
        self.bins = bins
        self.deterministic = deterministic

    def act(self, observations: Any) -> NDArray[np.float32]:
        """`[B, chunk, 7]` actions; see `VLAPolicy`."""
        count = len(observations["state"])
        rows = [to_inputs({key: of[i] for key, of in observations.items()}) for i in range(count)]
        seen: Any = self.model.observation_space
        inputs = {key: np.stack([row[key] for row in rows]) for key in seen.spaces}
        tokens, _ = self.model.predict(inputs, deterministic=self.deterministic)
        actions = values_of(tokens, self.bins, low=-1.0, high=1.0)
        return actions.astype(np.float32).reshape(count, -1, ACTION_SIZE)


def saved_policy(path: str | Path, *, observation_space: gym.Space[Any]) -> VLAPolicy:
    """A policy that stable-baselines3 has saved, be its actions tokens or numbers.

    Args:
        path: The zip file.
        observation_space: Of the environment that it will act in. Pictures that it was trained
            without are left out.

    Raises:
        MissingDependencyError: If stable-baselines3 is not installed.
        UnsupportedEnvironmentError: If it was trained on other observations or actions.
        ValueError: If `path` is no such file.
    """
    data, policy = read_saved(path)
    tokens = data["action_space"]
    if not isinstance(tokens, spaces.MultiDiscrete):
        return StableBaselinesPolicy(path, observation_space=observation_space)
    seen = data["observation_space"]
    if not _can_see(seen, observation_space):
        raise UnsupportedEnvironmentError(
            f"policy={path} was trained on {seen}, which cannot be made of the "
            f"{observation_space} of this environment"
        )
    if len(tokens.nvec) % ACTION_SIZE or len(set(tokens.nvec)) != 1:
        raise UnsupportedEnvironmentError(
            f"policy={path} chooses among {tokens}, which are no chunks of {ACTION_SIZE} numbers"
        )
    return SmallVLAPolicy(policy, bins=int(tokens.nvec[0]))


def _can_see(seen: gym.Space[Any], shown: gym.Space[Any]) -> bool:
    """Whether what a policy was trained on is part of the inputs that an environment gives."""
    try:
        given = inputs_space(shown)
    except UnsupportedEnvironmentError:
        return False
    return isinstance(seen, spaces.Dict) and seen.spaces.items() <= given.spaces.items()
