"""What the small policy sees and does: pictures, numbers and words in, action tokens out."""

from __future__ import annotations

import re
import zlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import ActionBins
from wmrl_gym.wrappers.action_chunks import ActionChunk

WORDS = 24
"""Words of an instruction that are read; ours have fewer."""
VOCABULARY = 1024
"""Hashed words; 0 stands for none."""
STATE_UNITS = (0.1, 0.1, 0.1, 0.5, 0.5, 0.5, 0.02, 0.02)
"""What is much for the hand's place (m), turn (rad) and opening (m)."""
BINS = 33
CHUNK = 8


class PolicyInputs(gym.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Pictures with channels first, and the instruction as hashed words.

    Args:
        env: An environment that observes like `WMRL-VLA-v0`.

    Raises:
        UnsupportedEnvironmentError: If it does not.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        space = inputs_space(env.observation_space)
        RecordConstructorArgs.__init__(self)
        gym.ObservationWrapper.__init__(self, env)
        self.observation_space = space

    def observation(self, observation: Any) -> Any:
        """What the policy sees of an observation."""
        return to_inputs(observation)


def inputs_space(space: spaces.Space[Any]) -> spaces.Dict:
    """The space of what the policy sees of observations in `space`.

    Raises:
        UnsupportedEnvironmentError: If these are not like those of `WMRL-VLA-v0`.
    """
    keys = set(space.spaces) if isinstance(space, spaces.Dict) else set()
    if not isinstance(space, spaces.Dict) or not {"image", "state", "instruction"} <= keys:
        raise UnsupportedEnvironmentError(
            f"observations are {space}: this policy reads image, state and instruction"
        )
    pictures: dict[str, spaces.Space[Any]] = {
        key: _channels_first(space[key]) for key in ("image", "wrist_image") if key in keys
    }
    words = spaces.Box(0, VOCABULARY - 1, (WORDS,), np.int64)
    return spaces.Dict({**pictures, "state": space["state"], "instruction": words})


def _channels_first(picture: spaces.Space[Any]) -> spaces.Space[Any]:
    height, width, channels = picture.shape or ()
    return spaces.Box(0, 255, (channels, height, width), np.uint8)


def to_inputs(observation: Any) -> dict[str, NDArray[Any]]:
    """What the policy sees of one observation of `WMRL-VLA-v0`."""
    pictures = {
        key: np.ascontiguousarray(observation[key].transpose(2, 0, 1))
        for key in ("image", "wrist_image")
        if key in observation
    }
    return {
        **pictures,
        "state": observation["state"],
        "instruction": word_ids(observation["instruction"]),
    }


def word_ids(instruction: str) -> NDArray[np.int64]:
    """`[WORDS]` ids of the words in their order; the same in every process."""
    words = re.findall(r"[a-z]+", instruction.lower())[:WORDS]
    ids = np.zeros(WORDS, dtype=np.int64)
    ids[: len(words)] = [1 + zlib.crc32(word.encode()) % (VOCABULARY - 1) for word in words]
    return ids


def for_policy(
    env: gym.Env[Any, Any], *, chunk: int = CHUNK, bins: int = BINS
) -> gym.Env[Any, Any]:
    """Put an environment like `WMRL-VLA-v0` into the form that the small policy trains on.

    Args:
        env: The environment. `image_size=64` and `render_profile="fast"` keep it quick.
        chunk: Actions that are decided at once.
        bins: Values of each number of an action.
    """
    return PolicyInputs(ActionBins(ActionChunk(env, size=chunk), bins=bins))
