"""The small policy as a `VLAPolicy`, which can be evaluated and filmed like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm

from wmrl_gym.agents.vla.inputs import BINS, to_inputs
from wmrl_gym.envs.vla.actions import ACTION_SIZE


class SmallVLAPolicy:
    """Acts on batches of observations of `WMRL-VLA-v0`.

    Args:
        model: A trained algorithm of stable-baselines3 on what `for_policy` made.
        bins: As in `for_policy`.
        deterministic: Whether it takes the likeliest tokens rather than drawing them.
    """

    def __init__(
        self, model: BaseAlgorithm, *, bins: int = BINS, deterministic: bool = True
    ) -> None:
        self.model = model
        self.bins = bins
        self.deterministic = deterministic

    def act(self, observations: Any) -> NDArray[np.float32]:
        """`[B, chunk, 7]` actions; see `VLAPolicy`."""
        count = len(observations["state"])
        rows = [to_inputs({key: of[i] for key, of in observations.items()}) for i in range(count)]
        inputs = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        tokens, _ = self.model.predict(inputs, deterministic=self.deterministic)
        values = -1.0 + 2.0 * np.asarray(tokens, dtype=np.float64) / (self.bins - 1)
        return values.astype(np.float32).reshape(count, -1, ACTION_SIZE)
