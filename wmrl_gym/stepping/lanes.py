"""Stepping and resetting single sub-environments, whatever holds them.

A vector environment steps all its sub-environments or none. Under a world model most of them
must not be stepped: only those whose episode is real. `Lanes` reaches each by its number, and
knows nothing of autoreset, which is left to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, SupportsFloat

import gymnasium as gym
from gymnasium.vector import SyncVectorEnv


class Transition(NamedTuple):
    """What one step gave."""

    observation: Any
    reward: SupportsFloat
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass(frozen=True)
class Start:
    """How to begin an episode."""

    seed: int | None = None
    options: dict[str, Any] | None = None
    group: int | None = None
    """Group of the episode; `None` makes it a group of its own."""


@dataclass(frozen=True)
class LaneSpaces:
    """The spaces of one sub-environment."""

    observation: gym.Space[Any]
    action: gym.Space[Any]


class Lanes(Protocol):
    """Sub-environments by number. Real steps are sent first and received later."""

    @property
    def count(self) -> int:
        """Number of sub-environments."""
        ...

    @property
    def spaces(self) -> LaneSpaces:
        """The spaces of each."""
        ...

    def reset(self, starts: Mapping[int, Start]) -> dict[int, tuple[Any, dict[str, Any]]]:
        """Reset the sub-environments named, and no other."""
        ...

    def send(self, actions: Mapping[int, Any]) -> None:
        """Begin a step in the sub-environments named, and in no other."""
        ...

    def receive(self) -> dict[int, Transition]:
        """What the steps begun by `send` gave, by number."""
        ...

    def has(self, name: str) -> bool:
        """Whether the first sub-environment, or a wrapper of it, has an attribute `name`."""
        ...

    def get(self, name: str) -> Any:
        """That attribute; to be asked for only where there is one."""
        ...


@dataclass
class LocalLanes:
    """Sub-environments in this process: a single one, or those of a `SyncVectorEnv`."""

    envs: list[gym.Env[Any, Any]]
    _actions: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, env: gym.Env[Any, Any] | SyncVectorEnv) -> LocalLanes:
        """The sub-environments of a vector environment, or one environment as the only one."""
        return cls(list(env.envs) if isinstance(env, SyncVectorEnv) else [env])

    @property
    def count(self) -> int:
        """Number of sub-environments."""
        return len(self.envs)

    @property
    def spaces(self) -> LaneSpaces:
        """Spaces of the first sub-environment."""
        return LaneSpaces(self.envs[0].observation_space, self.envs[0].action_space)

    def reset(self, starts: Mapping[int, Start]) -> dict[int, tuple[Any, dict[str, Any]]]:
        """Reset the sub-environments named."""
        return {
            lane: self.envs[lane].reset(seed=start.seed, options=start.options)
            for lane, start in starts.items()
        }

    def send(self, actions: Mapping[int, Any]) -> None:
        """Keep the actions for `receive`."""
        self._actions = dict(actions)

    def receive(self) -> dict[int, Transition]:
        """Step the sub-environments named in `send`."""
        actions, self._actions = self._actions, {}
        return {lane: Transition(*self.envs[lane].step(a)) for lane, a in actions.items()}

    def has(self, name: str) -> bool:
        """Whether the first sub-environment, or a wrapper of it, has an attribute `name`."""
        return self.envs[0].has_wrapper_attr(name)

    def get(self, name: str) -> Any:
        """That attribute."""
        return self.envs[0].get_wrapper_attr(name)
