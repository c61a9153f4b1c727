"""Where a single environment lets its reward be replaced: at its executor, or at its `step`."""

from __future__ import annotations

from typing import Any, Protocol, SupportsFloat

import gymnasium as gym

from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.stepping import AnchoredStepper, Start

Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class Seam(Protocol):
    """Resets and steps an environment whose reward is replaced."""

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and open an episode."""
        ...

    def step(self, action: Any) -> Step:
        """Take one step."""
        ...


class ExecutionSeam:
    """An `ExecutionEnv` whose executor is the anchored one: it steps as ever.

    Args:
        env: The environment, wrapped or not.
        anchored: The executor of `env.unwrapped`.
    """

    def __init__(self, env: gym.Env[Any, Any], anchored: AnchoredExecutor) -> None:
        self._env = env
        self._anchored = anchored

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and open an episode."""
        observation, info = self._env.reset(seed=seed, options=options)
        self._anchored.begin(0, _group(options))
        return observation, {**info, **self._anchored.info(0)}

    def step(self, action: Any) -> Step:
        """Step the environment, whose executions are anchored."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        info = {**info, **self._anchored.info(0)}
        if terminated or truncated:
            self._anchored.finish(0)
        return observation, reward, terminated, truncated, info


class SteppingSeam:
    """An environment that is stepped for real on anchors only.

    Args:
        stepper: Steps it, or imagines the step; the environment is its only lane.
    """

    def __init__(self, stepper: AnchoredStepper) -> None:
        self._stepper = stepper

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and open an episode."""
        return self._stepper.reset({0: Start(seed, options, _group(options))})[0]

    def step(self, action: Any) -> Step:
        """Take one step, real or imagined."""
        return self._stepper.step({0: action})[0]


def _group(options: dict[str, Any] | None) -> int | None:
    group = None if options is None else options.get("group")
    return None if group is None else int(group)
