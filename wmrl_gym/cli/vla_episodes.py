"""What `evaluate` and `collect` have in common for the manipulation environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym

from wmrl_gym.cli.variants import value_of

if TYPE_CHECKING:
    from wmrl_gym.envs.vla.base_env import VLABaseEnv

_SIDE_BY_SIDE = 16


@dataclass(frozen=True, kw_only=True)
class VLAEpisodes:
    """Which episodes are played."""

    env: Literal["WMRL-VLA-State-v0", "WMRL-VLA-v0"] = "WMRL-VLA-State-v0"
    """Id of the environment: seen as numbers, or as pictures."""
    tasks: tuple[str, ...] = ()
    """Tasks; all if not given."""
    split: Literal["train", "held_out"] = "train"
    """Compositions and initial states to draw from."""
    episodes: int = 50
    """Episodes on each task."""
    horizon: int | None = None
    """Steps after which an episode is truncated; each task's own if not given."""
    image_size: int = 256
    """Height and width of pictures in pixels."""
    render_profile: Literal["faithful", "fast"] = "faithful"
    """"fast" draws no shadows and less smooth edges, in a tenth of the time."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ValueError(f"episodes={self.episodes} must be at least 1")

    @property
    def pixels(self) -> bool:
        """Whether the environment shows pictures."""
        return self.env == "WMRL-VLA-v0"

    def names(self) -> tuple[str, ...]:
        """The tasks that are meant."""
        from wmrl_gym.envs.vla.families import FAMILIES

        return self.tasks or tuple(FAMILIES)

    def make(self, **arguments: Any) -> Sequence[VLABaseEnv[Any]]:
        """Environments to play side by side, no more than there are episodes of a task."""
        return [
            gym.make(
                self.env,
                tasks=list(self.names()),
                split=self.split,
                horizon=self.horizon,
                image_size=self.image_size,
                render_profile=self.render_profile,
                **arguments,
            ).unwrapped  # type: ignore[misc]  # that is what these ids make
            for _ in range(min(self.episodes, _SIDE_BY_SIDE))
        ]


def asks_for_manipulation(arguments: Sequence[str]) -> bool:
    """Whether `--env` names one of the manipulation environments."""
    env = value_of("env", arguments) or ""
    return env.rpartition(":")[2].startswith("WMRL-VLA-")
