"""Leases of GPUs. No GPU takes part: what is leased is a name."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from tests.sandboxes.helpers import job
from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes import Sandbox
from wmrl_gym.sandboxes.gpus import lease_gpus, visible_gpus
from wmrl_gym.sandboxes.jobs import environment


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of three GPUs that nobody else knows, on a machine without a driver."""
    monkeypatch.setenv("PATH", "/nonexistent")
    names = [f"GPU-{uuid.uuid4()}" for _ in range(3)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(names))
    return names


def _answer(monkeypatch: pytest.MonkeyPatch, directory: Path, *lines: str) -> None:
    """Put a program on PATH that answers as `nvidia-smi --query-gpu=uuid` does."""
    program = directory / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + "".join(f"echo {line}\n" for line in lines))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")


@pytest.mark.parametrize(
    ("wished", "visible"),
    [
        (None, ("GPU-aa1", "GPU-ab2", "GPU-c3")),
        ("", ()),
        ("2,0", ("GPU-c3", "GPU-aa1")),
        ("GPU-ab2", ("GPU-ab2",)),
        ("GPU-ab", ("GPU-ab2",)),
        ("GPU-a", ()),
        ("1,-1,0", ("GPU-ab2",)),
        ("1,7,0", ("GPU-ab2",)),
        ("1,1", ("GPU-ab2",)),
        ("MIG-x", ("MIG-x",)),
    ],
)
def test_names_of_the_caller_become_ids_of_the_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wished: str | None, visible: tuple[str, ...]
) -> None:
    _answer(monkeypatch, tmp_path, "GPU-aa1", "GPU-ab2", "GPU-c3")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if wished is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wished)
    assert visible_gpus() == visible


@pytest.mark.parametrize(
    ("wished", "visible"), [(None, ()), ("", ()), ("0, 3", ("0", "3")), ("-1", ())]
)
def test_without_a_driver_the_caller_is_believed(
    monkeypatch: pytest.MonkeyPatch, wished: str | None, visible: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if wished is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wished)
    assert visible_gpus() == visible


def test_no_two_hold_the_same_gpu(names: list[str]) -> None:
    with lease_gpus(2) as first, lease_gpus(1) as second:
        assert sorted(first + second) == sorted(names)
        with (
            pytest.raises(SandboxUnavailableError, match="in time"),
            lease_gpus(1, timeout_s=0.3),
        ):
            pass
    with lease_gpus(3, timeout_s=0.0) as all_of_them:
        assert sorted(all_of_them) == sorted(names)


def test_nothing_is_leased_where_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with lease_gpus(0) as none:
        assert none == ()
    with pytest.raises(SandboxUnavailableError, match="sees 0 GPUs"), lease_gpus(1):
        pass


def test_those_who_need_several_do_not_wait_for_each_other_for_ever(names: list[str]) -> None:
    served = []

    def use() -> None:
        for _ in range(5):
            with lease_gpus(2, timeout_s=60.0) as gpus:
                served.append(gpus)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(served) == 20
    assert all(len(set(gpus)) == 2 for gpus in served)


_HOLDER = """
import os, sys, time
from wmrl_gym.sandboxes.gpus import lease_gpus
with lease_gpus(3):
    if os.fork() == 0:  # a fork must not hold on to the lease
        time.sleep(5)
        os._exit(0)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_holder_loses_its_lease_at_once(names: list[str]) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(SandboxUnavailableError, match="in time"), lease_gpus(1, timeout_s=0.0):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait(20)
    with lease_gpus(3, timeout_s=0.0) as gpus:
        assert sorted(gpus) == sorted(names)
    holder.stdin.close()
    holder.stdout.close()


def test_every_job_is_told_which_gpus_it_has(sandbox: Sandbox) -> None:
    script = "import os; print(repr(os.environ['CUDA_VISIBLE_DEVICES']))"
    assert sandbox.run(job(script)).stdout == "''\n"


def test_leased_gpus_are_numbered_from_0() -> None:
    given = job("pass", gpus=2)
    assert environment(given, Path("/bin/python"), "/")["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_gpus_are_refused_where_they_cannot_be_passed(sandbox: Sandbox) -> None:
    if sandbox.name == "docker":
        with pytest.raises(ValueError, match=r"limits\.gpus=-1"):
            sandbox.run(job("pass", gpus=-1))
        return
    with pytest.raises(ValueError, match=f"limits.gpus=1: the back end '{sandbox.name}'"):
        sandbox.run(job("pass", gpus=1))


def test_a_job_cannot_name_gpus_itself(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="CUDA_VISIBLE_DEVICES"):
        sandbox.run(job("pass", env={"CUDA_VISIBLE_DEVICES": "0"}))
