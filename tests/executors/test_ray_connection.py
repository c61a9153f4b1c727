"""How the Ray executor comes to a cluster, and how it leaves it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from tests.executors.contract import executions
from tests.executors.ray_toys import MakeJob, awaited
from wmrl_gym.errors import ClusterError
from wmrl_gym.executors import RayExecutor


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    resources = {"num_cpus": 1, "memory": 1 << 30, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=resources)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
class TestOnACluster:
    def test_it_connects_when_it_is_needed_and_leaves_when_it_is_closed(
        self, cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        executor = RayExecutor(MakeJob(tmp_path), address=cluster.address, memory_mb=64)
        assert not ray.is_initialized()
        assert executor.execute(executions("shout"))[0].score == 0.05
        assert ray.is_initialized()
        executor.close()
        assert not ray.is_initialized()
        executor.close()
        assert capfd.readouterr() == ("", "")

    def test_executors_of_one_process_share_it(self, cluster: Cluster, tmp_path: Path) -> None:
        first, second = (
            RayExecutor(MakeJob(tmp_path), address=cluster.address, memory_mb=64) for _ in "12"
        )
        for executor in (first, second):
            assert executor.execute(executions("ok"))[0].score == 0.02
        first.close()  # it had connected
        assert second.execute(executions("ok 1"))[0].score == 0.04
        assert first.execute(executions("ok 1"))[0].score == 0.04
        second.close()
        first.close()
        assert not ray.is_initialized()

    def test_a_connection_that_was_there_is_used_and_stays(
        self, cluster: Cluster, tmp_path: Path
    ) -> None:
        ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        executor = RayExecutor(MakeJob(tmp_path), address="198.51.100.1:6379", memory_mb=64)
        assert executor.execute(executions("ok"))[0].score == 0.02
        executor.close()
        assert ray.is_initialized()
        ray.shutdown()

    def test_auto_is_the_cluster_of_the_environment(
        self, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        executor = RayExecutor(MakeJob(tmp_path), address="auto", memory_mb=64)
        assert executor.workers == 1
        executor.close()


@pytest.mark.slow
def test_without_an_address_ray_is_started_and_stopped_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: str
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        monkeypatch.setenv("RAY_TMPDIR", directory)
        # What a cluster that was killed has left behind is no hindrance.
        (Path(directory) / "ray").mkdir()
        (Path(directory) / "ray" / "ray_current_cluster").write_text(closed_port)
        executor = RayExecutor(MakeJob(tmp_path), memory_mb=64)
        assert executor.execute(executions("ok"))[0].score == 0.02
        assert processes_that_name(directory)
        executor.close()
        awaited(lambda: not processes_that_name(directory))


def processes_that_name(directory: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if directory in command:
            found.append(command)
    return found


@pytest.mark.parametrize("variable", [False, True])
def test_where_nothing_answers_one_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: str, variable: bool
) -> None:
    if variable:
        monkeypatch.setenv("RAY_ADDRESS", closed_port)
    address = "auto" if variable else closed_port
    executor = RayExecutor(MakeJob(tmp_path), address=address)
    started = time.monotonic()
    with pytest.raises(ClusterError, match=f"{address}.*nothing answers.*ray start --head"):
        executor.execute(executions("ok"))
    with pytest.raises(ClusterError, match="nothing answers"):
        _ = executor.workers
    assert time.monotonic() - started < 20
    executor.close()
    assert not ray.is_initialized()


@pytest.mark.parametrize("address", ["nonsense", "no-such-host.invalid:6379", "127.0.0.1:port"])
def test_an_address_that_is_none(address: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=f"address='{address}'"):
        RayExecutor(MakeJob(tmp_path), address=address).execute(executions("ok"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "ray://127.0.0.1:10001"}, "address='ray://127.0.0.1:10001' must be host:port"),
        ({"cpus": 0}, "cpus=0 must be positive"),
        ({"memory_mb": -1}, "memory_mb=-1 is negative"),
        ({"gpus": -1.0}, "gpus=-1.0 is negative"),
        ({"gpus": 1.5}, "gpus=1.5 must be at most 1, or a whole number"),
        ({"retries": -1}, "retries=-1 is negative"),
    ],
)
def test_wrong_arguments_are_refused_at_construction(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        RayExecutor(MakeJob(tmp_path), **options)  # type: ignore[arg-type]  # wrong on purpose


def test_without_ray_the_extra_is_named_and_the_rest_works() -> None:
    script = """
import sys
sys.modules["ray"] = None
import wmrl_gym.executors
from wmrl_gym.errors import MissingDependencyError
wmrl_gym.executors.PooledExecutor(len)
try:
    wmrl_gym.executors.RayExecutor
except MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == (
        'RayExecutor needs ray, which is not installed: pip install "wmrl-gym[ray]"\n'
    )


def test_importing_the_executors_does_not_import_ray() -> None:
    script = "import sys, wmrl_gym.executors; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n"
