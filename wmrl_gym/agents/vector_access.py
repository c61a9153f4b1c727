"""Attributes and methods of a vector environment, of its wrappers, and of what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.vector import SyncVectorEnv, VectorEnv, VectorWrapper

from wmrl_gym.errors import UnsupportedEnvironmentError

# These exist on both levels; whoever asks for them means the sub-environments.
# `render_mode` is left out: a vector environment always has it, and it is the same for all.
_SUB_ENV_NAMES = (frozenset(dir(gym.Env)) | {"observation_space", "action_space"}) - {"render_mode"}


class VectorAccess:
    """Finds a name on a stack of vector wrappers first, then in the sub-environments.

    What a vector layer has itself (`correction` and `update`, say) is one for all: it is
    repeated, and a method is called once.

    Args:
        env: A vector environment, wrapped or not.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env = env

    def has(self, name: str) -> bool:
        """Whether a vector layer or all sub-environments have `name`."""
        if self._vector_level(name) is not None:
            return True
        # Asking for what is missing would end the workers of an `AsyncVectorEnv`.
        layer = self._layer_with("call")
        return layer is not None and all(layer.call("has_wrapper_attr", name))

    def get(self, name: str, chosen: Sequence[int]) -> list[Any]:
        """The attribute `name`, for each of the `chosen` sub-environments."""
        layer = self._vector_level(name)
        if layer is not None:
            return [getattr(layer, name)] * len(chosen)
        values = self._layer_for("get_attr", name).get_attr(name)
        return [values[i] for i in chosen]

    def set(self, name: str, value: Any, chosen: Sequence[int]) -> None:
        """Set `name` where `get` finds it."""
        layer = self._vector_level(name)
        if layer is not None:
            setattr(layer, name, value)
            return
        everyone = range(self._env.num_envs)
        old = (
            self.get(name, everyone)
            if len(set(chosen)) < len(everyone)
            else [value] * len(everyone)
        )
        values = [value if i in chosen else old[i] for i in everyone]
        self._layer_for("set_attr", name).set_attr(name, values)

    def call(self, name: str, chosen: Sequence[int], *args: Any, **kwargs: Any) -> list[Any]:
        """Call the method `name`, and give its result for each of the `chosen`.

        Raises:
            UnsupportedEnvironmentError: If only a part of sub-environments is chosen and
                they live in other processes.
        """
        layer = self._vector_level(name)
        if layer is not None:
            return [getattr(layer, name)(*args, **kwargs)] * len(chosen)
        if len(set(chosen)) == self._env.num_envs:
            results = self._layer_for("call", name).call(name, *args, **kwargs)
            return [results[i] for i in chosen]
        envs = self._single_envs(name)
        return [envs[i].get_wrapper_attr(name)(*args, **kwargs) for i in chosen]

    def _layers(self) -> Iterator[Any]:
        layer: Any = self._env
        yield layer
        while isinstance(layer, VectorWrapper):
            layer = layer.env
            yield layer

    def _layer_with(self, name: str) -> Any:
        return next((layer for layer in self._layers() if hasattr(layer, name)), None)

    def _vector_level(self, name: str) -> Any:
        return None if name in _SUB_ENV_NAMES else self._layer_with(name)

    def _layer_for(self, access: str, name: str) -> Any:
        layer = self._layer_with(access)
        if layer is None:
            raise AttributeError(f"{self._env} has no {name!r} and no sub-environments to ask")
        return layer

    def _single_envs(self, name: str) -> list[gym.Env[Any, Any]]:
        base = self._env.unwrapped
        if not isinstance(base, SyncVectorEnv):
            raise UnsupportedEnvironmentError(
                f"env_method({name!r}, indices=...) on a part of {self._env} needs a "
                "SyncVectorEnv; leave `indices` out to call all sub-environments"
            )
        return base.envs
