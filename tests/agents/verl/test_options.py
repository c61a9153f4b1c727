"""What a configuration of verl may say."""

from __future__ import annotations

from typing import Any

import pytest
from omegaconf import OmegaConf

from tests.agents.verl.configuration import ENV, configuration
from wmrl_gym.agents.verl.options import read_options, require_weights_count

pytestmark = pytest.mark.verl


def test_the_section_is_read_as_plain_values() -> None:
    options = read_options(configuration())
    assert options is not None
    assert options.env == ENV
    assert options.correction_options == {"min_pairs": 4, "warmup_groups": 1}
    assert type(options.correction_options) is dict
    assert options.anchor_fraction == 0.5


def test_without_a_section_there_is_nothing_to_do() -> None:
    config = configuration()
    without = OmegaConf.masked_copy(config, [key for key in config if key != "wmrl"])
    OmegaConf.set_struct(without, True)
    assert read_options(without) is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("actor_rollout_ref.actor.policy_loss.loss_mode=kl_cov", "loss_mode='kl_cov' is not one"),
        ("data.train_batch_size=1", "train_batch_size=1 is one group"),
        ("reward.reward_model.enable=True", "would replace the scores"),
        ("trainer.val_before_train=True", "does not validate"),
        ("trainer.test_freq=5", "does not validate"),
    ],
)
def test_settings_in_which_weights_would_not_count(override: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        require_weights_count(configuration(override))


def test_a_trainer_refuses_them_before_it_starts_anything() -> None:
    from verl.trainer.ppo.v1 import get_trainer_cls

    trainer: Any = get_trainer_cls("sync")
    with pytest.raises(ValueError, match="train_batch_size=1 is one group"):
        trainer(config=configuration("data.train_batch_size=1"))
