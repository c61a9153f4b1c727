"""Executions on a real cluster of three nodes, all on this machine."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from tests.executors.contract import ExecutorContract, executions
from tests.executors.ray_toys import MakeJob, MakeNothing, Trace, awaited
from wmrl_gym import Execution, Status
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.executor import MLEExecutor, ScriptRun
from wmrl_gym.errors import ClusterError, TaskError
from wmrl_gym.executors import RayExecutor

pytestmark = pytest.mark.slow

MB = 1 << 20
COPY = 'import shutil; shutil.copy("../input/sample_submission.csv", "submission.csv")'
NODE = {"memory": 1024 * MB, "object_store_memory": 80 * MB}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three nodes with 1, 2 and 1 CPUs, the last with a GPU (by name only); we are connected."""
    cluster = Cluster()
    cluster.add_node(**NODE, num_cpus=1)
    cluster.add_node(**NODE, num_cpus=2)
    cluster.add_node(**NODE, num_cpus=1, num_gpus=1)
    # Each connection has workers of its own, which take seconds to start: one serves all tests.
    ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    (tmp_path / "trace").mkdir()
    return Trace(tmp_path / "trace")


@pytest.fixture
def make(cluster: Cluster, trace: Trace) -> Iterator[Any]:
    """Makes executors on the cluster, and closes them."""
    made = []

    def executor(make_run: Any = None, **options: Any) -> RayExecutor:
        options = {"address": cluster.address, "memory_mb": 64, **options}
        made.append(RayExecutor(make_run or MakeJob(trace.directory), **options))
        return made[-1]

    yield executor
    for one in made:
        one.close()


class TestContract(ExecutorContract):
    @pytest.fixture(autouse=True)
    def _cluster(self, cluster: Cluster) -> None:
        self.address = cluster.address

    def executor(self, directory: Path, **options: Any) -> RayExecutor:
        return RayExecutor(MakeJob(directory), address=self.address, memory_mb=64, **options)


def test_a_node_that_is_killed_loses_nothing_and_nothing_is_done_twice(
    cluster: Cluster, make: Any, trace: Trace, tmp_path: Path
) -> None:
    victim = cluster.add_node(**NODE, num_cpus=2)

    def kill() -> None:
        awaited(lambda: any(where == victim.node_id for _, where, _ in trace.noted("begun")))
        cluster.remove_node(victim, allow_graceful=False)

    batch = executions(*(f"stay_on {victim.node_id} {'x' * i}" for i in range(12)))
    executor = make(store=tmp_path / "s.sqlite")
    assert executor.workers == 6
    killer = threading.Thread(target=kill)
    killer.start()
    outcomes = executor.execute(batch)
    killer.join()
    assert [o.score for o in outcomes] == [len(e.artifact) / 100 for e in batch]
    assert sorted(trace.artifacts("ended")) == sorted(e.artifact for e in batch)
    lost = [artifact for artifact, where, _ in trace.noted("begun") if where == victim.node_id]
    assert 1 <= len(lost) <= 2
    assert len(trace.noted("begun")) == len(batch) + len(lost)
    assert (executor.counts.executed, executor.counts.failed) == (12, 0)
    assert executor.store is not None
    stored = {execution.key: outcome for execution, outcome in executor.store}
    assert stored == {e.key: outcome for e, outcome in zip(batch, outcomes, strict=True)}
    # Ray notices in the end that the node is gone, not only its workers.
    awaited(lambda: executor.workers == 4)


def test_a_worker_that_dies_is_replaced_until_it_has_died_too_often(
    make: Any, trace: Trace, tmp_path: Path
) -> None:
    executor = make(store=tmp_path / "s.sqlite", retries=2)
    batch = executions("ok", "die", "die_once 1", "die_once 2")
    outcomes = executor.execute(batch)
    assert [outcome.score for outcome in outcomes] == [0.02, None, 0.1, 0.1]
    assert outcomes[1].status is Status.UNSCORED
    assert "lost 3 times, at last to WorkerCrashedError" in outcomes[1].feedback
    begun = trace.artifacts("begun")
    assert [begun.count(e.artifact) for e in batch] == [1, 3, 2, 2]
    assert (executor.counts.executed, executor.counts.failed) == (4, 1)
    assert executor.store is not None
    assert len(executor.store) == 3


def test_no_more_run_at_once_than_there_are_cpus(make: Any, trace: Trace) -> None:
    executor = make()
    assert executor.workers == 4
    # The four that begin first would wait for ever if there were fewer at once.
    outcomes = executor.execute(executions(*(f"meet 4 {i}" for i in range(8))))
    assert all(outcome.score is not None for outcome in outcomes)
    assert len({where for _, where, _ in trace.noted("begun")}) == 3


@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ({"cpus": 2}, 1),
        ({"cpus": 0.5}, 8),
        ({"cpus": 0.1, "memory_mb": 400}, 6),
        ({"gpus": 1}, 1),
        ({"cpus": 0.1, "gpus": 0.1}, 10),
    ],
)
def test_workers_are_what_the_nodes_have_room_for(
    make: Any, options: dict[str, Any], workers: int
) -> None:
    assert make(**options).workers == workers


def test_gpus_are_given_and_their_workers_stay(make: Any, trace: Trace) -> None:
    outcomes = make(gpus=1).execute(executions("gpu 1", "gpu 2", "gpu 3"))
    assert [outcome.feedback for outcome in outcomes] == ["0"] * 3
    assert len(trace.noted("made")) == 1


@pytest.mark.parametrize("options", [{"cpus": 3}, {"memory_mb": 1025}, {"gpus": 2}])
def test_what_fits_on_no_node_is_refused_instead_of_waiting(
    make: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(ClusterError, match="no node of the Ray cluster that is up has room"):
        make(**options).execute(executions("ok"))


def test_when_the_last_node_with_room_dies_the_call_ends(
    cluster: Cluster, make: Any, trace: Trace
) -> None:
    victim = cluster.add_node(**NODE, num_cpus=4)

    def kill() -> None:
        awaited(lambda: bool(trace.noted("begun")))
        cluster.remove_node(victim, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    executor = make(cpus=4)
    assert executor.workers == 1
    with pytest.raises(ClusterError, match="no node of the Ray cluster that is up has room"):
        executor.execute(executions(f"stay_on {victim.node_id}"))
    killer.join()


def test_ctrl_c_cancels_what_has_not_begun_and_keeps_what_has(
    make: Any, trace: Trace, tmp_path: Path
) -> None:
    def press() -> None:
        awaited(lambda: len(trace.noted("begun")) >= 2)
        os.kill(os.getpid(), signal.SIGINT)

    executor = make(store=tmp_path / "s.sqlite")
    batch = executions(*(f"busy {i}" for i in range(40)))
    user = threading.Thread(target=press)
    user.start()
    with pytest.raises(KeyboardInterrupt):
        executor.execute(batch)
    user.join()
    assert executor.store is not None
    stored = sorted(execution.artifact for execution, _ in executor.store)
    assert stored == trace.artifacts("begun") == trace.artifacts("ended")
    assert 2 <= len(stored) < 30
    assert executor.counts.executed == len(stored)
    # And it goes on from there.
    assert len(executor.execute(batch)) == 40
    assert sorted(trace.artifacts("begun")) == sorted(e.artifact for e in batch)


def test_the_function_is_made_once_in_each_worker_process(make: Any, trace: Trace) -> None:
    make().execute(executions(*(f"ok {i}" for i in range(40))))
    processes = {process for _, _, process in trace.noted("begun")}
    assert {process for _, _, process in trace.noted("made")} == processes
    assert len(trace.noted("made")) == len(processes)


def test_a_function_that_cannot_be_made_is_for_the_user_to_mend(make: Any) -> None:
    with pytest.raises(ClusterError, match="no such device"):
        make(MakeNothing()).execute(executions("ok"))
    with pytest.raises(RuntimeError, match="no such device"):
        make(MakeNothing(), fatal=(RuntimeError,)).execute(executions("ok"))


def test_a_function_that_workers_cannot_import_is_for_the_user_to_mend(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def make_run(): return len")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ClusterError, match="No module named 'only_here'"):
        make(importlib.import_module("only_here").make_run).execute(executions("ok"))


def test_real_scripts_give_what_they_give_in_a_pool_though_their_worker_is_killed(
    make: Any, tmp_path: Path
) -> None:
    """Each is stored once, and of the killed worker's sandbox no process is left."""
    version = load_task("wine-cultivar").version
    sleep = f"import time; time.sleep(2); {COPY}"
    batch = [
        Execution("wine-cultivar", script, task_version=version, timeout_s=60)
        for script in (sleep, "1/0", "pass", "def", f"print(1); {COPY}", COPY, COPY)
    ]
    pool = MLEExecutor(workers=2, sandbox="forkserver")
    expected = pool.execute(batch)
    pool.close()
    killed: list[int] = []
    killer = threading.Thread(target=_kill_a_worker_with_a_job, args=[killed])
    killer.start()
    executor = make(partial(ScriptRun, sandbox="forkserver"), store=tmp_path / "s.sqlite")
    outcomes = executor.execute(batch)
    killer.join()
    assert [o.status for o in outcomes] == [o.status for o in expected]
    assert [(o.score, o.details) for o in outcomes] == [(o.score, o.details) for o in expected]
    assert outcomes[0].status is Status.COMPLETED
    assert executor.store is not None
    assert len(executor.store) == executor.counts.executed == 6
    assert len(killed) >= 4
    awaited(lambda: not any(map(_is_alive, killed)))
    unknown = Execution("no-such-task", COPY)
    with pytest.raises(TaskError, match="no-such-task"):
        make(ScriptRun, fatal=(TaskError,)).execute([unknown])


def _kill_a_worker_with_a_job(killed: list[int]) -> None:
    """Kill a worker whose sandbox runs a job; put the processes of that into `killed`."""
    awaited(lambda: bool(killed.extend(_busy_sandbox()) or killed))
    os.kill(_parent(killed[0]), signal.SIGKILL)


def _busy_sandbox() -> list[int]:
    """A fork server of a worker of ours, and the three processes that it forks for a job."""
    time.sleep(0.05)
    offspring: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        offspring.setdefault(_parent(int(path.name)), []).append(int(path.name))

    def tree(pid: int) -> list[int]:
        return [pid, *(each for child in offspring.get(pid, []) for each in tree(child))]

    ours = offspring[os.getpid()]  # the nodes, among others, and the fork server of the pool
    servers = [pid for child in ours for pid in tree(child)[1:] if _is_fork_server(pid)]
    return next((found for found in map(tree, servers) if len(found) >= 4), [])


def _is_fork_server(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"guest/__main__.py\0zygote" in command


def _parent(pid: int) -> int:
    """Its parent; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[1])
    except OSError:
        return 0


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False
