from __future__ import annotations

from typing import Any

import pytest

from wmrl_gym.cli.train_trl_config import TrainTRLConfig


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups_per_batch": 1}, "groups_per_batch=1 must be at least 2"),
        ({"group_size": 1}, "group_size=1 must be at least 2"),
        ({"groups": 7}, "groups=7 must be a multiple of groups_per_batch=6"),
        ({"device_batch_size": 5}, "device_batch_size=5 must divide the 48 samples"),
        ({"iterations": 0}, "iterations=0 must be at least 1"),
        ({"lora_rank": -1}, "lora_rank=-1 must not be negative"),
        ({"lora_rank": 8}, "lora_rank=8 adapts a model that exists"),
        ({"world_model": "base"}, "lora_rank=0 trains without any: give --lora-rank"),
        ({"turn_tokens": 0}, "turn_tokens=0 must be at least 1"),
        ({"temperature": 0.0}, "temperature=0.0 must be positive"),
        ({"learning_rate": -1e-4}, "learning_rate=-0.0001 must be positive"),
        ({"beta": -0.1}, "beta=-0.1 must not be negative"),
        ({"evaluation_episodes": -1}, "evaluation_episodes=-1 is negative"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainTRLConfig(**arguments)


def test_a_small_policy_takes_more_passes() -> None:
    assert TrainTRLConfig().passes == 4
    assert TrainTRLConfig(model="smollm2").passes == 1
    assert TrainTRLConfig(iterations=2).passes == 2


def test_real_episodes_cost_a_chat_model_more() -> None:
    assert TrainTRLConfig().real_episodes == 24
    assert TrainTRLConfig(model="smollm2").real_episodes == 4
    assert TrainTRLConfig(evaluation_episodes=0).real_episodes == 0
