"""Whether a model of flat states fits an environment: asked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.world_models.dynamics.protocol import DynamicsModel


def observation_size(space: gym.Space[Any]) -> int:
    """D of a flat observation space.

    Raises:
        UnsupportedEnvironmentError: If it is pixels, a dictionary, or no box of numbers.
    """
    pixels = _pixels(space)
    if pixels:
        raise UnsupportedEnvironmentError(
            f"observation_space has images ({pixels}), but a dynamics model imagines flat "
            "states: use the state twin of the environment, or a reward model that scores the "
            "frames of real rollouts"
        )
    return _flat_size("observation_space", space)


def action_size(space: gym.Space[Any]) -> int:
    """A of a flat, continuous action space.

    Raises:
        UnsupportedEnvironmentError: If it is no box of numbers.
    """
    return _flat_size("action_space", space)


def require_fit(
    model: DynamicsModel,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    task: str | None = None,
) -> None:
    """Check that `model` can imagine an environment with these spaces.

    Args:
        model: The model.
        observation_space: Of the environment.
        action_space: Of the environment.
        task: The task, to be compared with those that a trained model knows; `None` if the
            model is to learn from the environment itself.

    Raises:
        UnsupportedEnvironmentError: If the spaces are not flat boxes of numbers.
        ValueError: If the sizes are not the model's, or it was trained on other tasks.
    """
    found = {
        "observation_size": observation_size(observation_space),
        "action_size": action_size(action_space),
    }
    for name, size in found.items():
        if getattr(model, name) != size:
            raise ValueError(
                f"the world model has {name}={getattr(model, name)}, but the environment has "
                f"{size}: it was trained for another environment, or other wrappers"
            )
    known = getattr(model, "tasks", ())
    if task is not None and known:
        require_task(task, known)


def require_task(task: str, known: Sequence[str]) -> None:
    """Raise `ValueError` if `known` holds tasks, but not `task`."""
    if known and task not in known:
        raise ValueError(
            f"task={task!r} is none of those that the world model was trained on "
            f"({', '.join(known)}): choose one of them, or train it on episodes of this one"
        )


def _flat_size(name: str, space: gym.Space[Any]) -> int:
    if isinstance(space, spaces.Dict):
        raise UnsupportedEnvironmentError(
            f"{name} is a dictionary of {', '.join(space)}: flatten it with "
            "gymnasium.wrappers.FlattenObservation first"
        )
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise UnsupportedEnvironmentError(
            f"{name}={space} is no flat Box; a dynamics model needs Box of shape (n,)"
        )
    return int(space.shape[0])


def _pixels(space: gym.Space[Any]) -> str:
    """Describe the first image in `space`; empty if there is none."""
    if isinstance(space, spaces.Dict):
        named = ((key, _pixels(part)) for key, part in space.items())
        return next((f"{key!r}: {found}" for key, found in named if found), "")
    if isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) >= 2:
        return f"uint8 of shape {space.shape}"
    return ""
