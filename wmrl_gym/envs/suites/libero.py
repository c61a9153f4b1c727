"""LIBERO tasks, from states, as Gymnasium environments whose starts repeat bit for bit.

LIBERO (https://github.com/Lifelong-Robot-Learning/LIBERO) is an extra of its own, `libero`: a
package that goes with MuJoCo below 3.4 and brings the assets with it, 1.2 GB.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

_STATES = ("object-state", "robot0_proprio-state")
"""What robosuite calls the vectors of all objects and of the robot."""
_NO_MOTION = np.array([0.0] * 6 + [-1.0])
_ACTION_SIZE = 7


class LiberoEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One LIBERO task with its stored initial states and flat state observations.

    The stored initial states are those that LIBERO's own evaluation begins with. Train on some
    of them (`init_state_ids`) and evaluate on others, or say that you did not.

    Args:
        suite: `"libero_spatial"`, `"libero_object"`, `"libero_goal"`, `"libero_10"` or
            `"libero_90"`.
        task_id: Number of the task within its suite.
        init_state_ids: Initial states to draw from; `None` for all that are stored.
        horizon: Steps, of 50 ms, after which an episode is truncated.
        settle_steps: Steps without motion at the end of each reset.

    Raises:
        MissingDependencyError: If LIBERO is not installed.
        ValueError: If there is no such suite, task or initial state, or MuJoCo is too new.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium's convention
    render_mode = None

    def __init__(
        self,
        suite: str = "libero_spatial",
        task_id: int = 0,
        *,
        init_state_ids: Sequence[int] | None = None,
        horizon: int = 280,
        settle_steps: int = 10,
    ) -> None:
        if horizon < 1 or settle_steps < 0:
            raise ValueError(f"horizon={horizon} must be at least 1, {settle_steps=} at least 0")
        task, self._states, self._base = _make(suite, task_id)
        ids = range(len(self._states)) if init_state_ids is None else init_state_ids
        self._ids = [self._checked(state) for state in ids]
        self.horizon = horizon
        self.settle_steps = settle_steps
        self.tasks = (f"{suite}/{task.name}",)
        self.instruction: str = task.language
        # A hard reset rebuilds the model, which takes seconds; once is enough.
        size = len(_flat(self._base.reset()))
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
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
            options: `init_state_id` in the place of a draw; the same one gives the same start,
                bit for bit.

        Raises:
            ValueError: If that initial state does not exist.
        """
        super().reset(seed=seed)
        drawn = self._ids[int(self.np_random.integers(len(self._ids)))]
        state = self._checked(int((options or {}).get("init_state_id", drawn)))
        observation = _restore(self._base, self._states[state])
        for _ in range(self.settle_steps):
            observation, *_ = self._base.step(_NO_MOTION)
        self._start = {
            "task": self.tasks[0],
            "instruction": self.instruction,
            "init_state_id": state,
        }
        self._steps, self._success_once = 0, False
        success = bool(self._base.check_success())
        return _flat(observation), {**self._info(success), "horizon": self.horizon}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take one step of 50 ms; the reward is 1 while the task is achieved, else 0."""
        motion = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        observation, *_ = self._base.step(motion)
        self._steps += 1
        success = bool(self._base.check_success())
        self._success_once |= success
        truncated = self._steps >= self.horizon
        return _flat(observation), float(success), False, truncated, self._info(success)

    def close(self) -> None:
        """Close the simulator; safe to call twice."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _info(self, success: bool) -> dict[str, Any]:
        return {"is_success": success, "success_once": self._success_once, **self._start}

    def _checked(self, state: int) -> int:
        if not 0 <= state < len(self._states):
            raise ValueError(
                f"init_state_id={state} must lie between 0 and {len(self._states) - 1}"
            )
        return int(state)


def _make(suite: str, task_id: int) -> tuple[Any, Any, Any]:
    """The task, its stored initial states, and LIBERO's environment without any rendering."""
    try:
        import mujoco

        benchmark: Any = importlib.import_module("libero.libero.benchmark")
        envs: Any = importlib.import_module("libero.libero.envs.env_wrapper")
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'LiberoEnv needs {error.name}, which is not installed: pip install "wmrl-gym[libero]"'
        ) from error
    version = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
    if version >= (3, 4):
        raise ValueError(
            f"MuJoCo {mujoco.__version__} puts objects of LIBERO's stored initial states in the "
            "wrong place: pip install mujoco==3.3.0"
        )
    suites = benchmark.get_benchmark_dict()
    if suite not in suites:
        raise ValueError(f"suite={suite!r} is none of {', '.join(sorted(suites))}")
    tasks = suites[suite]()
    if not 0 <= task_id < tasks.get_num_tasks():
        raise ValueError(f"task_id={task_id} must lie between 0 and {tasks.get_num_tasks() - 1}")
    base = envs.ControlEnv(
        bddl_file_name=os.path.abspath(tasks.get_task_bddl_file_path(task_id)),
        use_camera_obs=False,
        has_offscreen_renderer=False,
        ignore_done=True,
    )
    return tasks.get_task(task_id), tasks.get_task_init_states(task_id), base


def _restore(base: Any, state: NDArray[np.float64]) -> Any:
    """Put everything where a stored initial state was.

    The state holds positions and velocities only; what solver, controller, gripper and the
    clocks of the sensors remember of the last episode would make the same actions end elsewhere.
    """
    base.set_init_state(state)
    base.sim.data.ctrl[:] = 0.0
    base.sim.data.qacc_warmstart[:] = 0.0
    for robot in base.robots:
        robot.controller.update(force=True)
        robot.controller.reset_goal()
        robot.gripper.current_action = np.zeros(robot.gripper.dof)
    for sensor in base.env._observables.values():
        sensor.reset()
    base._update_observables(force=True)
    return base.env._get_observations()


def _flat(observation: Any) -> NDArray[np.float32]:
    return np.concatenate([np.ravel(observation[name]) for name in _STATES]).astype(np.float32)
