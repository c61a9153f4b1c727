"""Policies that can be evaluated, whatever is inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmrl_gym.envs.vla.actions import ACTION_SIZE
from wmrl_gym.errors import MissingDependencyError, UnsupportedEnvironmentError

if TYPE_CHECKING:
    from wmrl_gym.envs.vla.base_env import VLABaseEnv

Actions = NDArray[np.float32]


class VLAPolicy(Protocol):
    """Acts for a batch of episodes at once."""

    def act(self, observations: Any) -> Actions:
        """Decide on the next actions of each episode.

        Args:
            observations: A batch: `[B, D]` float32 from the state-based twin; from
                `WMRL-VLA-v0` a dictionary, see `observation_maps`. Episodes that have ended
                keep their last observation, so that `B` stays.

        Returns:
            `[B, chunk, 7]` float32: actions to execute one after the other without looking.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class MappedPolicy:
    """A model of other conventions, between a map of observations and one of actions.

    For OpenVLA-OFT, for instance, `model` runs the network on `to_openvla(...)` and returns
    tokens, and `from_model` is `lambda tokens: from_openvla(scale.apply(codec.decode(tokens,
    chunk=8)))`.
    """

    to_model: Callable[[Mapping[str, Any]], Any]
    """Maps a batch of observations, as in `observation_maps`."""
    model: Callable[[Any], Any]
    """Maps what `to_model` returns to tokens or actions."""
    from_model: Callable[[Any], ArrayLike]
    """Maps what `model` returns to `[B, chunk, 7]`, as in `action_maps`."""

    def act(self, observations: Mapping[str, Any]) -> Actions:
        """`[B, chunk, 7]`; see `VLAPolicy`.

        Raises:
            ValueError: If `from_model` returns another shape.
        """
        actions = np.asarray(self.from_model(self.model(self.to_model(observations))), np.float32)
        if actions.ndim != 3 or actions.shape[-1] != ACTION_SIZE:
            raise ValueError(
                f"from_model returned shape {actions.shape} instead of [B, chunk, {ACTION_SIZE}]"
            )
        return actions


@dataclass(frozen=True)
class RandomPolicy:
    """Uniformly random actions."""

    count: int
    """Number of episodes in a batch."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def act(self, observations: Any) -> Actions:
        """`[count, 1, 7]`; see `VLAPolicy`."""
        return self.rng.uniform(-1.0, 1.0, (self.count, 1, ACTION_SIZE)).astype(np.float32)


class ExpertPolicy:
    """The scripted expert, which looks at the true states of environments that were reset.

    Args:
        envs: The bare environments of the batch; make a new policy after each reset.
        skill: From 0 (random) to 1.
        rng: Source of the noise.
    """

    def __init__(
        self, envs: Sequence[VLABaseEnv[Any]], *, skill: float, rng: np.random.Generator
    ) -> None:
        from wmrl_gym.envs.vla.expert import Expert

        streams = rng.spawn(len(envs))
        self._experts = [
            Expert(env.simulation, skill=skill, rng=stream)
            for env, stream in zip(envs, streams, strict=True)
        ]

    def act(self, observations: Any) -> Actions:
        """`[B, 1, 7]`; see `VLAPolicy`."""
        return np.stack([expert.act() for expert in self._experts])[:, None]


class StableBaselinesPolicy:
    """A policy that any algorithm of stable-baselines3 has saved, acting deterministically.

    Args:
        path: The zip file.
        observation_space: What it will be shown.

    Raises:
        UnsupportedEnvironmentError: If it was trained on other observations or actions.
        ValueError: If `path` is no such file.
    """

    def __init__(self, path: str | Path, *, observation_space: gym.Space[Any]) -> None:
        data, policy = read_saved(path)
        if data["observation_space"] != observation_space:
            raise UnsupportedEnvironmentError(
                f"policy={path} was trained on {data['observation_space']}, not on the "
                f"{observation_space} of this environment"
            )
        shape = data["action_space"].shape
        if not shape or shape[-1] != ACTION_SIZE:
            raise UnsupportedEnvironmentError(
                f"policy={path} has actions of shape {shape}, not ({ACTION_SIZE},) or chunks of it"
            )
        self._policy = policy

    def act(self, observations: Any) -> Actions:
        """`[B, chunk, 7]`; see `VLAPolicy`."""
        actions, _ = self._policy.predict(observations, deterministic=True)
        return np.asarray(actions, dtype=np.float32).reshape(len(actions), -1, ACTION_SIZE)


def read_saved(path: str | Path) -> tuple[dict[str, Any], Any]:
    """What stable-baselines3 saved about an algorithm, and its policy, on the processor.

    Raises:
        MissingDependencyError: If stable-baselines3 is not installed.
        ValueError: If `path` is no such file.
    """
    path = Path(path)
    try:
        from stable_baselines3.common.save_util import load_from_zip_file
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "a saved policy needs stable-baselines3: pip install 'wmrl-gym[sb3]'"
        ) from error
    if not path.is_file():
        raise ValueError(f"policy={path} is no file")
    data, parameters, _ = load_from_zip_file(path, device="cpu")
    if data is None or "policy_class" not in data:
        raise ValueError(f"policy={path} was not saved by an algorithm of stable-baselines3")
    policy = data["policy_class"](
        data["observation_space"],
        data["action_space"],
        lambda progress: 0.0,  # a rate of learning, which nothing asks for any more
        **data["policy_kwargs"],
    )
    policy.load_state_dict(parameters["policy"])
    policy.set_training_mode(False)
    return data, policy
