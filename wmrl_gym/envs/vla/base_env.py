"""What the manipulation environments share: tasks, episodes, reward, success and saved states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from wmrl_gym.envs.vla.actions import ACTION_SIZE, read_action
from wmrl_gym.envs.vla.arguments import named_tasks, require_among, require_at_least
from wmrl_gym.envs.vla.families import FAMILIES, SPLITS
from wmrl_gym.envs.vla.initial_states import initial_state
from wmrl_gym.envs.vla.physics import mujoco
from wmrl_gym.envs.vla.rendering import Renderer
from wmrl_gym.envs.vla.saved_states import pack, unpack
from wmrl_gym.envs.vla.simulation import Simulation

ObsType = TypeVar("ObsType")
Action = NDArray[np.float32]

REWARDS = ("sparse", "progress")
_DRAWN_STATES = 2**31


class VLABaseEnv(gym.Env[ObsType, Action]):
    """An arm over a table that does what an instruction says; a subclass says what is observed.

    Simulators are made at the first reset of a task and kept, one for each task, so that the
    environment can be built in one process and used in another.

    Args:
        tasks: Names of the tasks to draw from; `None` for all families.
        task: One name, in the place of `tasks`.
        split: `"train"` or `"held_out"`: compositions and initial states to draw from.
        horizon: Control steps after which an episode is truncated; `None` for the family's own.
        settle_steps: Control steps without motion at the end of each reset.
        substeps: Physics steps in each control step of 50 ms. More make the environment slower
            and slightly more accurate.
        reward: `"sparse"` pays 1 at the first success and 0 otherwise; `"progress"` pays the
            change of a potential in [0, 1] that is 0 at the start and 1 on success.
        terminate_on_success: Whether an episode ends when its task is achieved.
        render_mode: `"rgb_array"` or `None`.
        render_profile: `"faithful"` or `"fast"`; see `rendering`. Also in `metadata`.
        image_size: Height and width of pictures in pixels.

    Raises:
        TaskError: If a task is unknown.
        ValueError: If an argument is out of its range.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012  # Gymnasium's convention
    observation_space: gym.Space[ObsType]

    def __init__(
        self,
        *,
        tasks: Sequence[str] | None = None,
        task: str | None = None,
        split: str = "train",
        horizon: int | None = None,
        settle_steps: int = 10,
        substeps: int = 10,
        reward: str = "sparse",
        terminate_on_success: bool = True,
        render_mode: str | None = None,
        render_profile: str = "faithful",
        image_size: int = 256,
    ) -> None:
        self.tasks = named_tasks(tasks, task)
        require_among("split", split, SPLITS)
        require_among("reward", reward, REWARDS)
        require_at_least("horizon", horizon, 1)
        require_at_least("settle_steps", settle_steps, 0)
        require_at_least("substeps", substeps, 1)
        if render_mode is not None:
            require_among("render_mode", render_mode, self.metadata["render_modes"])
        self._renderer = Renderer(size=image_size, profile=render_profile)
        self.render_mode = render_mode
        self.render_profile = render_profile
        self.metadata = {**self.metadata, "render_profile": render_profile}
        self.split = split
        self.horizon = horizon
        self.settle_steps = settle_steps
        self.substeps = substeps
        self.reward = reward
        self.terminate_on_success = terminate_on_success
        self.action_space = Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)
        self._simulations: dict[str, Simulation] = {}
        self._simulation: Simulation | None = None
        self._steps = 0
        self._success_once = False
        self._potential = 0.0

    @abstractmethod
    def _observation(self) -> ObsType:
        """What the agent sees now; always a new object."""

    @property
    def simulation(self) -> Simulation:
        """The scene of this episode.

        Raises:
            RuntimeError: If there was no `reset` yet.
        """
        if self._simulation is None:
            raise RuntimeError("no episode has begun: call reset() first")
        return self._simulation

    @property
    def instruction(self) -> str:
        """What this episode asks for, in words."""
        return self.simulation.instruction

    @property
    def task_description(self) -> str:
        """The instruction, by the name under which vector environments of the field ask for it."""
        return self.instruction

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of the draws of tasks and initial states.
            options: `task` and `init_state_id` in the place of a draw; the same pair gives the
                same start, bit for bit. `group` is for wrappers and changes nothing here.

        Raises:
            ValueError: If an option is out of its range.
        """
        super().reset(seed=seed)
        # Both are drawn in any case, so that an option changes no later draw.
        drawn_task = self.tasks[int(self.np_random.integers(len(self.tasks)))]
        drawn_state = int(self.np_random.integers(_DRAWN_STATES))
        options = options or {}
        task = options.get("task", drawn_task)
        if task not in self.tasks:
            raise ValueError(
                f"options['task']={task!r} is not among the tasks of this environment: "
                f"{', '.join(self.tasks)}"
            )
        self._begin(task, self.split, int(options.get("init_state_id", drawn_state)))
        return self._observation(), self._info(self._potential == 1.0, False, False)

    def step(self, action: ArrayLike) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Advance by 50 ms.

        An action outside the box is clipped; entries that are not numbers, or an action of
        another size, count as no motion. Both are marked as `bad_action` in `info`.
        """
        motion, bad = read_action(action)
        self.simulation.step(motion)
        self._steps += 1
        potential = self.simulation.progress()
        success = potential == 1.0
        reward = self._pay(potential, success)
        self._potential = potential
        self._success_once |= success
        terminated = self._success_once and self.terminate_on_success
        truncated = not terminated and self._steps >= self._horizon()
        info = self._info(success, terminated or truncated, bad)
        return self._observation(), reward, terminated, truncated, info

    def current_observation(self) -> ObsType:
        """What the agent sees now, such as after `restore_state`; always a new object."""
        return self._observation()

    def picture(self, camera: str = "agentview") -> NDArray[np.uint8]:
        """Draw what a camera sees, `[image_size, image_size, 3]`, in any `render_mode`.

        Raises:
            RenderingUnavailableError: If no OpenGL works here.
            ValueError: If `camera` is neither `"agentview"` nor `"wrist"`.
        """
        simulation = self.simulation
        simulation.refresh_cameras()
        return self._renderer.frame(simulation.model, simulation.data, camera)

    def render(self) -> NDArray[np.uint8] | None:
        """The scene from the front, if `render_mode` is `"rgb_array"`."""
        return None if self.render_mode is None else self.picture()

    def close(self) -> None:
        """Free what was made for drawing; safe to call twice."""
        self._renderer.close()

    def save_state(self) -> bytes:
        """The whole episode so far; `restore_state` goes back to it, bit for bit."""
        header = self._header() | {"steps": self._steps, "success_once": self._success_once}
        return pack(header, self.simulation.physics_state())

    def restore_state(self, state: bytes) -> None:
        """Go back to a saved state of this environment or of one like it.

        Raises:
            ValueError: If the state was saved with another `settle_steps`, `substeps` or MuJoCo,
                on a task that this environment does not have, or is no saved state.
        """
        header, physics = unpack(state)
        task = header.get("task")
        if task not in self.tasks:
            raise ValueError(f"state of the task {task!r}, which is not one of {self.tasks}")
        for name, here in self._physics().items():
            if header.get(name) != here:
                raise ValueError(
                    f"state saved with {name}={header.get(name)}, but this environment has "
                    f"{name}={here}"
                )
        self._begin(task, header["split"], header["init_state_id"])
        self.simulation.restore_physics(physics)
        self._steps, self._success_once = header["steps"], header["success_once"]
        self._potential = self.simulation.progress()

    def __getstate__(self) -> dict[str, Any]:
        # Simulations hold views into the simulator's memory, which would not survive a copy.
        episode = None if self._simulation is None else self.save_state()
        without: dict[str, Any] = {"_simulations": {}, "_simulation": None}
        return {**self.__dict__, **without, "_episode": episode}

    def __setstate__(self, state: dict[str, Any]) -> None:
        episode = state.pop("_episode")
        self.__dict__.update(state)
        if episode is not None:
            self.restore_state(episode)

    def _begin(self, task: str, split: str, init_state_id: int) -> None:
        initial = initial_state(task, split, init_state_id)
        if task not in self._simulations:
            self._simulations[task] = Simulation(
                FAMILIES[task], substeps=self.substeps, settle_steps=self.settle_steps
            )
        self._simulation = self._simulations[task]
        self._simulation.reset(initial)
        self._steps = 0
        self._potential = self._simulation.progress()
        self._success_once = self._potential == 1.0

    def _pay(self, potential: float, success: bool) -> float:
        if self.reward == "progress":
            return potential - self._potential
        return 1.0 if success and not self._success_once else 0.0

    def _horizon(self) -> int:
        return self.simulation.family.horizon if self.horizon is None else self.horizon

    def _header(self) -> dict[str, Any]:
        initial = self.simulation.started()
        return {
            "task": initial.task,
            "split": initial.split,
            "init_state_id": initial.init_state_id,
            **self._physics(),
        }

    def _physics(self) -> dict[str, Any]:
        """What must agree for a saved state to go on as it would have."""
        return {
            "settle_steps": self.settle_steps,
            "substeps": self.substeps,
            "mujoco": mujoco.__version__,
        }

    def _info(self, success: bool, ended: bool, bad_action: bool) -> dict[str, Any]:
        initial = self.simulation.started()
        return {
            "is_success": success,
            "success_once": self._success_once,
            "success_at_end": success and ended,
            "progress": self._potential,
            "instruction": initial.instruction,
            "task": initial.task,
            "init_state_id": initial.init_state_id,
            "bad_action": bad_action,
            "horizon": self._horizon(),
        }
