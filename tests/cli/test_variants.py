"""One command, several agents: each with its own options and errors that name the mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wmrl_gym.cli import main
from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.directory import config_from_json


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says before it ends."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    return f"{stopped.value}{captured.out}{captured.err}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train --run x --lora-rank 8", "--lora-rank belongs to --agent trl, not to --agent grpo"),
        ("train --run x --agent ppo --model y", "--model belongs to --agent trl, not to"),
        (
            "train --run x --agent=trl --entropy 0.1",
            "--entropy belongs to --agent grpo|ppo, not to --agent trl",
        ),
        ("train --run x --agent dqn", "--agent dqn is none of grpo, ppo, trl"),
        ("evaluate --run x --attempts 3", "--attempts belongs to --agent llm, not to --agent tr"),
        ("evaluate --run x --agent llm --episodes=3", "--episodes belongs to --agent trained"),
        ("evaluate --run x --agent grpo", "--agent grpo is none of trained, llm"),
    ],
)
def test_wrong_combinations_are_named(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in said(arguments.split(), capsys)


@pytest.mark.parametrize(
    ("arguments", "known", "unknown"),
    [
        (["train"], "--epochs", "--lora-rank"),
        (["train", "--agent", "trl"], "--lora-rank", "--epochs"),
        (["evaluate"], "--episodes", "--attempts"),
        (["evaluate", "--agent=llm"], "--attempts", "--episodes "),
    ],
)
def test_help_lists_the_options_of_that_agent(
    arguments: list[str], known: str, unknown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said([*arguments, "--help"], capsys)
    assert known in text
    assert unknown not in text


def test_a_run_that_goes_on_has_its_agent_in_its_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"agent": "trl"}))
    text = said(["train", "--run", str(tmp_path), "--resume", "--help"], capsys)
    assert "--lora-rank" in text
    config.write_text("torn")
    assert "--epochs" in said(["train", "--run", str(tmp_path), "--resume", "--help"], capsys)


def test_a_config_through_json() -> None:
    config = config_from_json(TrainConfig, {"tasks": ["a", "b"], "from_the_future": 1})
    assert config == TrainConfig(tasks=("a", "b"))
