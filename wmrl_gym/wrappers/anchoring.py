"""What the two reward wrappers share: their arguments and the executor made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.outcomes import Executor, WorldModel
from wmrl_gym.world_models import make_world_model


def make_anchored_executor(
    real: Executor,
    *,
    world_model: str | WorldModel,
    anchor_fraction: float,
    seed: int,
    bounds: tuple[float, float],
    options: Mapping[str, Any] | None,
    slots: int = 1,
    first_group: int = 0,
    group_stride: int = 1,
) -> AnchoredExecutor:
    """Put a world model and a correction in front of a real executor.

    Raises:
        UnsupportedEnvironmentError: If `real` is anchored already (a wrapper in a wrapper).
        ValueError: If an argument is out of its range.
    """
    if isinstance(real, AnchoredExecutor):
        raise UnsupportedEnvironmentError(
            "the environment has a WorldModelReward wrapper already; one is all that it can have"
        )
    if first_group < 0 or group_stride < 1:
        raise ValueError(
            f"first_group={first_group} must be at least 0 and "
            f"group_stride={group_stride} at least 1"
        )
    correction = RewardCorrection(
        anchor_fraction=anchor_fraction, seed=seed, bounds=bounds, **(options or {})
    )
    return AnchoredExecutor(
        real,
        make_world_model(world_model),
        correction,
        slots=slots,
        first_group=first_group,
        group_stride=group_stride,
    )
