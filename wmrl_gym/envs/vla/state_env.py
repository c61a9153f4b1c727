"""`WMRL-VLA-State-v0`: the state-based twin, one flat vector of the same size for every task."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from wmrl_gym.envs.vla.base_env import VLABaseEnv
from wmrl_gym.envs.vla.observation import OBSERVATION_BOUND, OBSERVATION_SIZE


class VLAStateEnv(VLABaseEnv[NDArray[np.float32]]):
    """Manipulation by instruction, seen as numbers: true positions, and no picture.

    Observation: `[OBSERVATION_SIZE]` float32; `observation` has its parts. The thing that the
    instruction is about comes first, so that a policy needs no language.

    Action: `[7]` in [-1, 1] at 20 Hz: a step of the hand of up to 2.5 cm along x, y and z, a
    turn of up to 0.15 rad about each, and the gripper (-1 opens, 1 closes, 0 holds).

    `info` of every reset and step: `is_success` (in this state), `success_once` (so far),
    `success_at_end` (on the last step, whether it ended in success), `progress` in [0, 1],
    `instruction`, `task`, `init_state_id`, `bad_action`.

    Args:
        arguments: As in `VLABaseEnv`.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.observation_space = Box(
            -OBSERVATION_BOUND, OBSERVATION_BOUND, (OBSERVATION_SIZE,), np.float32
        )

    def _observation(self) -> NDArray[np.float32]:
        return self.simulation.state_vector()
