"""MuJoCo, or an error that says how to get it; every file of this room imports it from here."""

from __future__ import annotations

from wmrl_gym.errors import MissingDependencyError

try:
    import mujoco
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "the manipulation environments need mujoco, which is not installed: "
        'pip install "wmrl-gym[vla]"'
    ) from error

__all__ = ["mujoco"]
