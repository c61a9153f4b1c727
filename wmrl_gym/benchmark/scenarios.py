"""What a study is made on: an environment, its tasks, a world model, and a size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wmrl_gym.benchmark.arms import changes
from wmrl_gym.errors import WMRLError
from wmrl_gym.training.config import HELD_OUT_TASKS, TRAIN_TASKS, ControlConfig, TrainConfig


@dataclass(frozen=True)
class Scenario:
    """One setting in which arms are compared."""

    name: str
    about: str
    config: TrainConfig
    """The arm `both`, in full size."""
    small: Mapping[str, Any]
    """Changes that make it small: all arms with some seeds in minutes."""

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
            predicts = changed.get("world_model", self.config.world_model)
            changed["world_model"] = f"residual:{predicts}"
        if changed.get("fusion") == "prediction_powered":
            changed["normalize"] = "center"  # where it is unbiased
        groups = changed.pop("groups", self.config.groups) * changed.pop("times", 1)
        return replace(self.config, **changed, groups=groups, seed=seed, workers=workers)


_SYNTHETIC = TrainConfig(
    env="WMRL-Synthetic-v0",
    tasks=("copper", "iron", "tin", "zinc"),
    held_out_tasks=(),
    groups=960,
    learning_rate=0.005,
    epochs=4,
    evaluation_episodes=400,
)
_SMALL = {"groups": 480, "evaluation_episodes": 200}
_WAIT = 0.04
"""Seconds that an execution waits where wall-clock is to mean something: with two at once, about
as long as it takes to train on a dozen predictions."""

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="lenient",
            about="Synthetic, 40 ms an execution: the world model overlooks every second crash.",
            config=replace(
                _SYNTHETIC,
                world_model="synthetic:blindness=0.5,noise=0.1",
                env_arguments=(f"execution_seconds={_WAIT}",),
            ),
            small=_SMALL,
        ),
        Scenario(
            name="hacked",
            about="Synthetic: one kind of solution is over-rated, and gloss can be hacked.",
            config=replace(
                _SYNTHETIC, world_model="synthetic:misjudgement=0.2,hacking=0.3,noise=0.1"
            ),
            small=_SMALL,
        ),
        Scenario(
            name="drifting",
            about="Synthetic: a good world model turns lenient while training goes on.",
            config=replace(_SYNTHETIC, world_model="synthetic:noise=0.1,drift=0.3"),
            small=_SMALL,
        ),
        Scenario(
            name="quality",
            about="Synthetic: where sweeps are made; a slightly lenient, noisy world model.",
            config=replace(_SYNTHETIC, world_model="synthetic:blindness=0.3,noise=0.2"),
            small=_SMALL,
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
            name="control",
            about="Reaching with an arm by PPO; a model of the dynamics learns from real episodes.",
            config=ControlConfig(),
            small={"groups": 40},
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
