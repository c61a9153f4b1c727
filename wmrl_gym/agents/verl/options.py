"""What a training with verl is asked to do: the section `wmrl` of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

SECTION = "wmrl"
LOSS_MODES = ("vanilla", "dppo_tv", "dppo_kl", "gspo", "sapo", "gpg", "geo_mean", "cispo")
"""Losses of verl that are a function of the probability ratio times the advantage, whose
branches look at the sign of the advantage only: weights on advantages are exact in these."""
_MLE = "WMRL-MLE-v0"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Tasks, world model and anchors of a training.

    Raises:
        ValueError: If a number is out of its range.
    """

    env: str = _MLE
    """Id of an environment that takes and gives text."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the environment. `WMRL-MLE-v0` executes on the Ray cluster of the
    training, unless they say otherwise."""
    world_model: str = "surrogate"
    """Name of a world model."""
    anchor_fraction: float = 0.1
    """Share of groups that are executed for real, in `[0, 1]`."""
    seed: int = 0
    """Seed of the anchors."""
    correction_options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `RewardCorrection`."""
    episodes: int = 4096
    """Most episodes that are open at once, over all workers."""
    turn_tokens: int | None = None
    """Longest action; `None` for what the whole response may take."""
    max_observation_tokens: int = 1024
    """Longest answer of the environment; a longer one loses its middle."""

    def __post_init__(self) -> None:
        for name in ("episodes", "turn_tokens", "max_observation_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{SECTION}.{name}={value} must be at least 1")

    @property
    def make_options(self) -> dict[str, Any]:
        """Arguments of `gymnasium.make`."""
        where = {"executor": "ray"} if self.env == _MLE else {}
        return {**where, **self.env_options}


def read_options(config: Any) -> Options | None:
    """The options in a configuration of verl; `None` if it has no section `wmrl`.

    Args:
        config: Mapping of plain values, or verl's own.

    Raises:
        ValueError: If the section has a field that there is not.
    """
    section = config.get(SECTION)
    if section is None:
        return None
    known = [field.name for field in fields(Options)]
    if unknown := set(section) - set(known):
        raise ValueError(f"{SECTION} has no {sorted(unknown)}: choose among {known}")
    return Options(**{name: _plain(section[name]) for name in section})


def require_weights_count(config: Any) -> None:
    """Refuse settings in which weights would do nothing, or not what they should.

    Args:
        config: verl's configuration, with the section `wmrl`.

    Raises:
        ValueError: If there is such a setting; the message names it.
    """
    loss_mode = config.actor_rollout_ref.actor.policy_loss.loss_mode
    if loss_mode not in LOSS_MODES:
        raise ValueError(
            f"actor_rollout_ref.actor.policy_loss.loss_mode={loss_mode!r} is not one in which "
            f"weights are exact: {LOSS_MODES}"
        )
    if config.data.train_batch_size < 2:
        raise ValueError(
            f"data.train_batch_size={config.data.train_batch_size} is one group: its weight, "
            "divided by the mean, is always 1. Make it 2 or more"
        )
    if config.reward.reward_model.enable:
        raise ValueError("reward.reward_model.enable=True would replace the scores of the world")
    if config.trainer.val_before_train or config.trainer.test_freq > 0:
        raise ValueError(
            "this agent loop trains and does not validate: set trainer.val_before_train=False and "
            "trainer.test_freq=-1, and evaluate with `wmrl-gym evaluate`, which executes everything"
        )


def _plain(value: Any) -> Any:
    """Mappings and lists of plain Python, whatever the configuration holds them in."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in value}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
