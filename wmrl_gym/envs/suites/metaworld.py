"""Meta-World tasks with starts that follow the seed.

Meta-World ignores the seed of a reset, so that the members of a group would start apart; tells
success in `info` only; never terminates; and refuses to go on after 500 steps. Its observations
are float64 and leave their declared bounds.
"""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

_OBSERVATION_SIZE = 39
_ACTION_SIZE = 4
_DRAWN_STATES = 2**31
_LONGEST = 500


class MetaWorldEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One Meta-World task; where objects and goal are follows from `init_state_id`.

    Args:
        task: A name such as `"reach-v3"`, `"push-v3"` or `"drawer-open-v3"`.
        horizon: Steps after which an episode is truncated, at most 500.
        render_mode: `"rgb_array"` or `None`.

    Raises:
        MissingDependencyError: If Meta-World is not installed.
        ValueError: If there is no such task, or `horizon` is out of its range.

    Examples:
        >>> env = MetaWorldEnv("reach-v3")
        >>> observation, info = env.reset(options={"init_state_id": 3})
        >>> observation.shape, info["instruction"]
        ((39,), 'reach')
        >>> env.close()
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 80}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self, task: str = "reach-v3", *, horizon: int = 200, render_mode: str | None = None
    ) -> None:
        if not 1 <= horizon <= _LONGEST:
            raise ValueError(
                f"horizon={horizon} must lie between 1 and {_LONGEST}, after which Meta-World "
                "refuses to go on"
            )
        self._base = _make(task, render_mode)
        self.tasks = (task,)
        self.horizon = horizon
        self.render_mode = render_mode
        # Wider than Meta-World's own, which its observations leave.
        self.observation_space = spaces.Box(-np.inf, np.inf, (_OBSERVATION_SIZE,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (_ACTION_SIZE,), np.float32)
        self._start: dict[str, Any] = {}
        self._steps = 0
        self._success_once = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of the draw of the initial state.
            options: `init_state_id`, at least 0, in the place of a draw. The same one gives the
                same start, bit for bit.
        """
        super().reset(seed=seed)
        # Drawn in any case, so that an option changes no later draw.
        drawn = int(self.np_random.integers(_DRAWN_STATES))
        state = int((options or {}).get("init_state_id", drawn))
        self._base.seed(state)
        observation, _ = self._base.reset()
        task = self.tasks[0]
        instruction = task.rsplit("-", 1)[0].replace("-", " ")
        self._start = {"task": task, "instruction": instruction, "init_state_id": state}
        self._steps, self._success_once = 0, False
        return observation.astype(np.float32), {**self._info(False), "horizon": self.horizon}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take one step; the reward is Meta-World's own, from 0 to 10."""
        observation, reward, _, _, info = self._base.step(np.asarray(action))
        self._steps += 1
        success = bool(info["success"])
        self._success_once |= success
        truncated = self._steps >= self.horizon
        return (
            observation.astype(np.float32),
            float(reward),
            False,
            truncated,
            self._info(success),
        )

    def render(self) -> Any:
        """The scene, if `render_mode` is `"rgb_array"`."""
        return None if self.render_mode is None else self._base.render()

    def close(self) -> None:
        """Close the simulator; safe to call twice."""
        self._base.close()

    def _info(self, success: bool) -> dict[str, Any]:
        return {"is_success": success, "success_once": self._success_once, **self._start}


def _make(task: str, render_mode: str | None) -> Any:
    try:
        table: Any = importlib.import_module("metaworld.env_dict")
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"MetaWorldEnv needs {error.name}, which is not installed: "
            'pip install "wmrl-gym[robotics]"'
        ) from error
    classes = table.ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
    suffix = "-goal-observable"
    if task + suffix not in classes:
        names = sorted(name.removesuffix(suffix) for name in classes)
        raise ValueError(f"task={task!r} is none of Meta-World's: {', '.join(names)}")
    base = classes[task + suffix](seed=0, render_mode=render_mode)
    # Draw the start anew at each reset, from the environment's own generator.
    base._freeze_rand_vec = False
    base.seeded_rand_vec = True
    return base
