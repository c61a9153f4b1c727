"""What a study is made on: an environment, its tasks, a world model, and a size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wmrl_gym.benchmark.arms import changes
from wmrl_gym.errors import WMRLError
from wmrl_gym.training.config import HELD_OUT_TASKS, TRAIN_TASKS, TrainConfig


@dataclass(frozen=True)
class Scenario:
    """One setting in which arms are compared."""

    name: str
    about: str
    config: TrainConfig
    """The arm `both`, in full size."""
    small: Mapping[str, Any]
    """Changes that make it small: all arms with some seeds in minutes."""
    dials: tuple[str, ...] = ()
    """Sweeps that are possible besides that over the anchor fraction."""

    def arm(self, arm: str, *, seed: int, small: bool, workers: int | None) -> TrainConfig:
        """The configuration of one arm and one seed.

        Args:
            arm: A name of `ARMS`.
            seed: Of everything.
            small: Whether in small size.
            workers: Real executions at once; `None` for one per core.
        """
        changed = {**(self.small if small else {}), **changes(arm)}
        if changed.pop("learn_errors", False):
            changed["world_model"] = f"residual:{self.config.world_model}"
        if changed.get("fusion") == "prediction_powered":
            changed["normalize"] = "center"  # where it is unbiased
        return replace(self.config, **changed, seed=seed, workers=workers)


_SYNTHETIC = TrainConfig(
    env="WMRL-Synthetic-v0",
    tasks=("copper", "iron", "tin", "zinc"),
    held_out_tasks=(),
    world_model="synthetic:bias=0.6,noise=0.1",
    groups=400,
    learning_rate=0.01,
    epochs=4,
    evaluation_episodes=200,
)

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="lenient",
            about="Synthetic: the world model is lenient with crashes, and a little noisy.",
            config=_SYNTHETIC,
            small={"groups": 240, "evaluation_episodes": 100},
            dials=("quality",),
        ),
        Scenario(
            name="hacked",
            about="Synthetic: one kind of solution is over-rated, and gloss can be hacked.",
            config=replace(
                _SYNTHETIC, world_model="synthetic:misjudgement=0.2,hacking=0.3,noise=0.1"
            ),
            small={"groups": 240, "evaluation_episodes": 100},
        ),
        Scenario(
            name="drifting",
            about="Synthetic: a good world model turns lenient while training goes on.",
            config=replace(_SYNTHETIC, world_model="synthetic:noise=0.1,drift=0.3"),
            small={"groups": 240, "evaluation_episodes": 100},
        ),
        Scenario(
            name="mle",
            about="Machine-learning tasks, a world model that learned from other tasks.",
            config=TrainConfig(
                world_model="!".join(("pretrained:surrogate", *TRAIN_TASKS, *HELD_OUT_TASKS))
            ),
            small={"groups": 64, "evaluation_episodes": 6},
        ),
        Scenario(
            name="mle-online",
            about="Machine-learning tasks, a world model that learns from the run's own anchors.",
            config=TrainConfig(),
            small={"groups": 64, "evaluation_episodes": 6},
        ),
    )
}


def find_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        WMRLError: If there is none.
    """
    if name not in SCENARIOS:
        raise WMRLError(f"scenario={name!r} is unknown: choose from {list(SCENARIOS)}")
    return SCENARIOS[name]
