from __future__ import annotations

import pickle
from pathlib import Path

import gymnasium as gym
import pytest

import wmrl_gym
from wmrl_gym import Execution, Status
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.executor import MLEExecutor, ScriptRun, make_executor
from wmrl_gym.errors import SandboxUnavailableError, TaskError
from wmrl_gym.executors import RayExecutor
from wmrl_gym.executors.pool import usable_cores
from wmrl_gym.sandboxes import Limits, select_sandbox

assert wmrl_gym  # registers the ids

COPY = 'import shutil; shutil.copy("../input/sample_submission.csv", "submission.csv")'


def execution(script: str, task: str = "wine-cultivar") -> Execution:
    return Execution(task, script, task_version=load_task("wine-cultivar").version, timeout_s=30)


def test_a_batch_with_every_kind_of_end() -> None:
    executor = MLEExecutor(workers=2)
    outcomes = executor.execute(
        [execution(script) for script in (COPY, "1/0", "pass", "def", "print('\u00e9'); " + COPY)]
    )
    assert [outcome.status for outcome in outcomes] == [
        Status.COMPLETED,
        Status.CRASHED,
        Status.NO_RESULT,
        Status.MALFORMED,
        Status.COMPLETED,
    ]
    assert [outcome.score for outcome in outcomes[1:4]] == [0.1, 0.2, 0.0]
    assert outcomes[0].score == outcomes[4].score
    assert outcomes[0].details["metric"] > 0
    assert "ZeroDivisionError" in outcomes[1].feedback
    assert outcomes[3].seconds == 0.0
    executor.close()


def test_our_failure_to_grade_is_no_score_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path))
    (load_task("wine-cultivar").private / "test.csv").unlink()
    executor = MLEExecutor(workers=1, store=tmp_path / "store.sqlite")
    (outcome,) = executor.execute([execution(COPY)])
    assert (outcome.status, outcome.score) == (Status.UNSCORED, None)
    assert "test.csv" in outcome.feedback
    assert executor.counts.failed == 1
    assert executor.store is not None
    assert len(executor.store) == 0
    executor.close()


def test_what_a_user_must_mend_is_raised() -> None:
    with pytest.raises(ValueError, match="sandbox='chroot'"):
        MLEExecutor(sandbox="chroot")
    with pytest.raises(TaskError, match="no-such-task"):
        MLEExecutor(workers=1).execute([execution(COPY, task="no-such-task")])


def test_what_an_execution_may_use_goes_with_the_job() -> None:
    run = ScriptRun(cpus=3, memory_mb=512, gpus=2)
    assert run.job(execution(COPY)).limits == Limits(wall_s=30, memory_mb=512, threads=3, gpus=2)
    assert ScriptRun().job(execution(COPY)).limits == Limits(wall_s=30)


def test_what_an_execution_may_use_goes_from_the_environment_to_the_executor() -> None:
    for name in ("WMRL-MLE-v0", "WMRL-MLE-Pipeline-v0"):
        env = gym.make(name, task="wine-cultivar-micro", cpus=2, memory_mb=300)
        assert isinstance(env.unwrapped, ExecutionEnv)
        executor = env.unwrapped.executor
        assert isinstance(executor, MLEExecutor)
        assert executor.workers == max(1, usable_cores() // 2)
        taking = "import os; print(os.environ['OMP_NUM_THREADS'], 'threads')\nx = bytearray(2**29)"
        [outcome] = executor.execute([execution(taking)])
        assert outcome.status is Status.OUT_OF_MEMORY
        assert "2 threads" in outcome.feedback
        assert "300 MiB" in outcome.feedback
        env.close()


def test_a_cluster_reserves_what_an_execution_may_use() -> None:
    resources = {"cpus": 2, "memory_mb": 512, "gpus": 1}
    options = {"address": None, "sandbox": "auto", "workers": None, "store": None}
    executor = make_executor("ray", **options, **resources)
    assert isinstance(executor, RayExecutor)
    assert executor.demand == {"CPU": 2, "memory": 512 << 20, "GPU": 1}
    limits = executor.make_run().job(execution(COPY)).limits
    assert (limits.threads, limits.memory_mb, limits.gpus) == (2, 512, 1)


@pytest.mark.parametrize("sandbox", ["forkserver", "bubblewrap", "landlock"])
def test_a_back_end_without_gpus_is_named_at_once(sandbox: str) -> None:
    message = f"gpus=1: sandbox='{sandbox}' cannot pass GPUs through; use 'docker'"
    with pytest.raises(ValueError, match=message):
        gym.make("WMRL-MLE-v0", task="wine-cultivar-micro", sandbox=sandbox, gpus=1)
    for wrong in ({"cpus": 0}, {"memory_mb": 0}, {"gpus": -1}):
        [name] = wrong
        with pytest.raises(ValueError, match=f"{name}=.* must be a whole number of at least"):
            MLEExecutor(sandbox=sandbox, **wrong)


def test_a_sandbox_that_lacks_a_guarantee_is_refused() -> None:
    with pytest.raises(SandboxUnavailableError, match="scratch_bounded"):
        select_sandbox("landlock", require=frozenset({"scratch_bounded"}))


def test_it_travels_to_another_process_before_and_after_use(tmp_path: Path) -> None:
    executor = MLEExecutor(workers=1, store=tmp_path / "store.sqlite")
    for _ in range(2):
        twin = pickle.loads(pickle.dumps(executor))
        assert twin.execute([execution("pass")])[0].status is Status.NO_RESULT
        twin.close()
        executor.execute([execution("pass")])
    assert executor.counts.replayed == 2
    executor.close()
