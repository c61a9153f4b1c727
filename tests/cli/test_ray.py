"""`wmrl-gym train` on a Ray cluster."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from tests.cli.test_command import metrics
from wmrl_gym.cli import main
from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.directory import config_from_json


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    """The cluster that "auto" finds, of two nodes with a CPU each."""
    node = {"num_cpus": 1, "memory": 4 << 30, "object_store_memory": 80 << 20}
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_TMPDIR", directory)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        cluster = Cluster(initialize_head=True, head_node_args=node)
        cluster.add_node(**node)
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield
        cluster.shutdown()


def train(run: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wmrl_gym.cli", "train", "--run", str(run), *arguments,
         "--tasks", "wine-cultivar", "--held-out-tasks", "diabetes", "--groups", "2",
         "--group-size", "4", "--groups-per-batch", "2", "--evaluation-episodes", "1",
         "--timeout-s", "30"],
        capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("_cluster")
def test_a_cluster_gives_the_same_run_as_this_machine(tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    assert train(alone).returncode == 0
    done = train(together, "--executor", "ray", "--address", "auto")
    assert done.returncode == 0, done.stderr
    assert metrics(together) == metrics(alone)
    assert metrics(together)[-1]["executions_real"] > 0
    assert (together / "result.json").exists()
    # Nothing of what Ray and its workers have to say.
    assert "ray" not in done.stdout.lower()
    assert done.stderr == ""


def test_where_no_cluster_answers_no_run_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        main(["train", "--run", str(run), "--executor", "ray", "--address", "127.0.0.1:1"])
    assert "nothing answers" in str(stopped.value) + capsys.readouterr().err
    assert not (run / "config.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "auto"}, "address='auto' needs executor='ray'"),
        ({"executor": "ray", "workers": 2}, "workers=2 needs executor='pool'"),
        ({"executor": "ray", "tasks": ()}, "executor='ray' needs an environment with tasks"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(**options)  # type: ignore[arg-type]  # wrong on purpose


def test_a_config_from_before_there_was_a_choice_still_loads() -> None:
    assert config_from_json(TrainConfig, {"groups": 3}).executor == "pool"
    config = TrainConfig(executor="ray", address="auto")
    assert config_from_json(TrainConfig, {"executor": "ray", "address": "auto"}) == config
