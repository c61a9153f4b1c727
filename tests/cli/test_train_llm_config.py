from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from wmrl_gym.cli.train_llm_config import TrainLLMConfig
from wmrl_gym.errors import RunError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups_per_batch": 1}, "groups_per_batch=1 must be at least 2"),
        ({"group_size": 1}, "group_size=1 must be at least 2"),
        ({"groups": 7}, "groups=7 must be a multiple of groups_per_batch=6"),
        ({"device_batch_size": 5}, "device_batch_size=5 must divide the 48 samples"),
        ({"lora_rank": -1}, "lora_rank=-1 must not be negative"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainLLMConfig(**arguments)


def test_through_a_file_and_back(tmp_path: Path) -> None:
    config = TrainLLMConfig(tasks=("a", "b"), lora_rank=8)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**asdict(config), "from_the_future": 1}))
    assert TrainLLMConfig.read(file) == config
    with pytest.raises(RunError, match="is not the directory of a run"):
        TrainLLMConfig.read(tmp_path / "none" / "config.json")
