"""`wmrl-gym train` on the state-based manipulation environment, as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tyro

from wmrl_gym.cli import main
from wmrl_gym.training.config import ControlConfig, TrainConfig
from wmrl_gym.training.directory import RunDirectory, replace_file
from wmrl_gym.training.evaluation import true_scores
from wmrl_gym.training.run import TrainingRun, save_agent

MODEL = "tests.training.small_dynamics:small_dynamics"
SHORT = [
    *("--env", "WMRL-VLA-State-v0", "--world-model", MODEL, "--gate-threshold", "0"),
    *("--env-arguments", "reward=progress", "horizon=8", "settle_steps=2"),
    *("--evaluation-episodes", "2", "--epochs", "1", "--rollout-steps", "16"),
    *("--group-size", "4", "--groups-per-batch", "2", "--groups", "8"),
]


def train(run: Path, *arguments: str) -> RunDirectory:
    """Carry out the command."""
    main(["train", "--run", str(run), *arguments])
    return RunDirectory(run)


def metrics(run: RunDirectory) -> list[dict[str, Any]]:
    """What the run logged, without what depends on the clock."""
    timed = ("elapsed", "seconds_real", "seconds_model", "seconds_saved")
    return [{k: v for k, v in line.items() if k not in timed} for line in run.metrics()]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ppo", "grpo"])
def test_a_run_imagines_and_ends_in_a_table(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path / "run", *SHORT, "--agent", agent)
    assert [line["groups"] for line in run.metrics()] == [2, 4, 6, 8]
    last = list(run.metrics())[-1]
    assert last["executions_avoided"] == last["steps_imagined"] > 0
    assert last["groups_begun"] >= last["groups_real"] > 0
    result = json.loads((run.path / "result.json").read_text())
    assert len(result["after"]["reach"]) == 2
    assert all(0.0 <= score <= 1.0 for score in result["after"]["reach"])
    assert "all tasks trained on" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    config = config_of(SHORT)
    run = RunDirectory(tmp_path / "run")
    run.create(config)
    training = TrainingRun(config)
    replace_file(run.initial_policy, save_agent(training.agent))
    for _ in range(2):
        run.log(training.train_batch())
    training.save(run)
    before = training.rewards
    assert before is not None
    resumed = TrainingRun(run.config(TrainConfig))
    resumed.restore(run)
    assert resumed.rewards is not None
    assert resumed.rewards.correction.version == before.correction.version
    assert resumed.rewards.anchored.totals == before.anchored.totals
    train(run.path, "--resume")
    lines = metrics(run)
    assert [line["groups"] for line in lines] == [2, 4, 6, 8]
    assert lines[2]["steps_real"] >= lines[1]["steps_real"]
    assert lines[3]["steps_imagined"] > lines[1]["steps_imagined"]


def config_of(arguments: Sequence[str]) -> ControlConfig:
    """The arguments as the command reads them."""
    return tyro.cli(ControlConfig, args=list(arguments))


def test_episodes_of_different_lengths_are_evaluated() -> None:
    # Some end by success after a step or two, the others at the horizon.
    arguments = ("reward=progress", "horizon=30", "settle_steps=2")
    config = ControlConfig(env_arguments=arguments, evaluation_episodes=12, world_model="none")

    class Straight:
        """Goes where the observation says the goal is: 2.5 cm a step at the most."""

        def predict(self, observations: Any, deterministic: bool) -> tuple[Any, None]:
            actions = np.zeros((len(observations), 7), dtype=np.float32)
            actions[:, :3] = np.clip(observations[:, 69:72] / 0.025, -1.0, 1.0)
            return actions, None

    agent: Any = Straight()
    scores = true_scores(agent, config, tasks=config.evaluation_tasks, store=None)["reach"]
    assert len(scores) == 12
    assert max(scores) == pytest.approx(1.0)


def test_the_environment_brings_its_own_defaults() -> None:
    config = ControlConfig()
    assert (config.agent, config.world_model, config.tasks) == ("ppo", "dynamics", ("reach",))
    assert config.evaluation_tasks == ("reach",)
    assert TrainConfig().world_model == "surrogate"


@pytest.mark.parametrize("arguments", [{"discount": 0.0}, {"discount": 1.5}, {"noise": -1.0}])
def test_wrong_numbers_are_named(arguments: dict[str, float]) -> None:
    ((name, value),) = arguments.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        ControlConfig(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_pixels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="image"):
        train(tmp_path / "run", "--env", "WMRL-VLA-v0")
    assert not (tmp_path / "run").exists()
