"""Observations and actions of an environment as flat float32 vectors, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from wmrl_gym.errors import UnsupportedEnvironmentError

_PIXEL_AXES = (2, 3)
_ACTION_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


@dataclass(frozen=True)
class _Leaf:
    """One `Box` inside an observation space."""

    path: tuple[str, ...]
    box: spaces.Box

    @property
    def is_image(self) -> bool:
        return self.box.dtype == np.uint8 and len(self.box.shape) in _PIXEL_AXES

    @property
    def size(self) -> int:
        return int(np.prod(self.box.shape))


class FlatObservations:
    """Turns the observations of a `Box`, or of nested `Dict`s of them, into flat vectors.

    The keys of a `Dict` are taken in alphabetical order, whatever order they were declared
    in, so that a saved model finds its dimensions again. Images and texts have no place in a
    vector: `flatten` leaves them out and `unflatten` cannot make them.

    Args:
        space: Space of a single observation.

    Raises:
        UnsupportedEnvironmentError: If the space holds something else, or no number at all.

    Examples:
        >>> FlatObservations(spaces.Box(0, 1, (2, 3))).size
        6
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        self.space = space
        leaves = list(_leaves(space, ()))
        self._numbers = [leaf for leaf in leaves if not leaf.is_image]
        self._images = [leaf for leaf in leaves if leaf.is_image]
        self._texts = _has_text(space)
        stops = np.cumsum([0, *(leaf.size for leaf in self._numbers)]).tolist()
        self._slices = [slice(a, b) for a, b in pairwise(stops)]
        self.size: int = stops[-1]
        """D, the length of the vectors."""

    def require_imaginable(self) -> None:
        """Refuse spaces whose observations a state model cannot make.

        Raises:
            UnsupportedEnvironmentError: If there are images or texts, or no numbers.
        """
        if self._images:
            name = "/".join(self._images[0].path) or "the observation"
            raise UnsupportedEnvironmentError(
                f"{name} in observation_space={self.space} is an image, which a model of states "
                "cannot imagine: use the environment's state observations, or a world_model that "
                "scores real rollouts (`score(episodes)`)"
            )
        if self._texts or not self.size:
            raise UnsupportedEnvironmentError(
                f"observation_space={self.space} holds texts or no numbers; a model of states "
                "needs a Box, or a Dict of Boxes, of numbers"
            )

    def flatten(self, observation: Any) -> npt.NDArray[np.float32]:
        """The numbers of an observation, `[D]` float32; a fresh array."""
        parts = [np.ravel(_at(observation, leaf.path)) for leaf in self._numbers]
        if not parts:
            return np.zeros(0, dtype=np.float32)
        return np.concatenate(parts).astype(np.float32)

    def unflatten(self, vector: npt.NDArray[np.float32]) -> Any:
        """The observation of `[D]` numbers, in the shapes and dtypes of the space.

        It is not clipped to the bounds of the space: real observations of some suites leave
        theirs, and a clipped one would look like nothing that the policy has ever seen.
        """
        values = {
            leaf.path: vector[part].reshape(leaf.box.shape).astype(leaf.box.dtype)
            for leaf, part in zip(self._numbers, self._slices, strict=True)
        }
        return _assemble(self.space, (), values)

    def frame(self, observation: Any) -> npt.NDArray[np.uint8] | None:
        """The first image of an observation, `[H, W, 3]` uint8, if there is one.

        Pictures whose channels come first, `[3, H, W]`, are turned.
        """
        for leaf in self._images:
            image = np.asarray(_at(observation, leaf.path))
            if image.ndim == 3 and image.shape[-1] == 3:
                return image
            if image.ndim == 3 and image.shape[0] == 3:
                return np.moveaxis(image, 0, -1)
        return None


class FlatActions:
    """Actions as flat vectors.

    Args:
        space: Space of a single action: `Box`, `Discrete`, `MultiDiscrete` or `MultiBinary`.

    Raises:
        UnsupportedEnvironmentError: If it is another one.
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        if not isinstance(space, _ACTION_SPACES):
            raise UnsupportedEnvironmentError(
                f"action_space={space} is none of {[kind.__name__ for kind in _ACTION_SPACES]}"
            )
        self.space = space
        self.size = int(np.prod(space.shape or ()))
        """A, the length of the vectors."""
        self._low = np.full(self.size, -np.inf)
        self._high = np.full(self.size, np.inf)
        if isinstance(space, spaces.Box):
            self._low, self._high = np.ravel(space.low), np.ravel(space.high)

    def require_vectors(self) -> None:
        """Refuse actions that are choices: a model of the dynamics would take them for amounts.

        Raises:
            UnsupportedEnvironmentError: If the space is no `Box`.
        """
        if not isinstance(self.space, spaces.Box):
            raise UnsupportedEnvironmentError(
                f"action_space={self.space} is no Box: a model of the dynamics takes vectors of "
                "amounts, not choices"
            )

    def flatten(self, action: Any) -> npt.NDArray[np.float32]:
        """`[A]` float32; a `Box` clips it to its bounds, as simulators do.

        A bad action is no error: entries that are no numbers count as 0, and so does the whole
        of an action of another size.
        """
        vector = np.ravel(np.asarray(action, dtype=np.float64))
        if vector.size != self.size:
            return np.zeros(self.size, dtype=np.float32)
        numbers = np.where(np.isnan(vector), 0.0, vector)
        clipped: npt.NDArray[np.float64] = np.minimum(np.maximum(numbers, self._low), self._high)
        return clipped.astype(np.float32)


def _leaves(space: gym.Space[Any], path: tuple[str, ...]) -> Iterator[_Leaf]:
    if isinstance(space, spaces.Box):
        yield _Leaf(path, space)
    elif isinstance(space, spaces.Dict):
        for key in sorted(space.keys()):
            yield from _leaves(space[key], (*path, key))
    elif not isinstance(space, spaces.Text):
        name = "/".join(path) or "the observation"
        raise UnsupportedEnvironmentError(
            f"{name} is {space}: only Box, and Dict of them, are supported; an observation wrapper "
            "can turn it into a Box"
        )


def _has_text(space: gym.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_text(part) for part in space.values())
    return isinstance(space, spaces.Text)


def _at(observation: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _assemble(space: gym.Space[Any], path: tuple[str, ...], values: dict[Any, Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _assemble(part, (*path, key), values) for key, part in space.items()}
    return values[path]
