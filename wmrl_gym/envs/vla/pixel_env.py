"""`WMRL-VLA-v0`: manipulation by instruction, seen through two cameras."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from wmrl_gym.envs.vla.base_env import VLABaseEnv
from wmrl_gym.envs.vla.instruction_space import Instruction
from wmrl_gym.envs.vla.observation import OBSERVATION_BOUND

Observation = dict[str, Any]

CAMERAS = {"image": "agentview", "wrist_image": "wrist"}
"""Camera of each picture in the observation."""


class VLAEnv(VLABaseEnv[Observation]):
    """Manipulation by instruction: what a vision-language-action policy gets, and no more.

    Observation:
        `image`: `[image_size, image_size, 3]` uint8, the scene from the front, top row first.
        `wrist_image`: the same size, from the hand.
        `state`: `[8]` float32: hand position (m), axis-angle of the hand's turn from pointing
        straight down (rad), and how far each finger is open (m).
        `instruction`: text.

    Actions, `info`, resets and saved states are those of the state-based twin, `VLAStateEnv`;
    with the same arguments and actions the two go through the same states, bit for bit. `info`
    also has `render_profile`.

    Pictures are drawn when an observation is due. Set `frames_due` to False and steps repeat
    the last pictures instead of drawing; `current_observation()` draws. `ActionChunk` does so.

    Args:
        image_size: Height and width of the pictures in pixels.
        image_rotation: 0 or 180 degrees; some policies were trained on upside-down pictures.
        wrist_camera: Whether there is a `wrist_image`; without it, half as much is drawn.
        arguments: As in `VLABaseEnv`.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self,
        *,
        image_size: int = 256,
        image_rotation: int = 0,
        wrist_camera: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(image_size=image_size, **arguments)
        if image_rotation not in (0, 180):
            raise ValueError(f"image_rotation={image_rotation} must be 0 or 180 degrees")
        self.image_rotation = image_rotation
        self.frames_due = True
        self._cameras = dict(CAMERAS)
        if not wrist_camera:
            del self._cameras["wrist_image"]
        self._pictures: dict[str, NDArray[np.uint8]] = {}
        shape, bound = (image_size, image_size, 3), OBSERVATION_BOUND
        self.observation_space = Dict(
            {key: Box(0, 255, shape, np.uint8) for key in self._cameras}
            | {"state": Box(-bound, bound, (8,), np.float32), "instruction": Instruction()}
        )

    def _begin(self, task: str, split: str, init_state_id: int) -> None:
        self._pictures = {}  # those of another episode
        super()._begin(task, split, init_state_id)

    def _observation(self) -> Observation:
        if self.frames_due or not self._pictures:
            self._pictures = {key: self._draw(camera) for key, camera in self._cameras.items()}
        bound = OBSERVATION_BOUND
        return {
            **{key: picture.copy() for key, picture in self._pictures.items()},
            "state": np.clip(self.simulation.proprioception(), -bound, bound),
            "instruction": self.instruction,
        }

    def _draw(self, camera: str) -> NDArray[np.uint8]:
        picture = self.picture(camera)
        return picture[::-1, ::-1].copy() if self.image_rotation else picture

    def _info(self, success: bool, ended: bool, bad_action: bool) -> dict[str, Any]:
        info = super()._info(success, ended, bad_action)
        return {**info, "render_profile": self.render_profile}
