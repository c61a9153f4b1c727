"""The back end "docker": its image, its engine, what it asks of it."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import wmrl_gym
from tests.sandboxes.containers import engine, wait_for_container
from tests.sandboxes.helpers import job
from wmrl_gym.sandboxes import GUARANTEES, JobResult, JobStatus, Limits
from wmrl_gym.sandboxes.docker.container import arguments
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox
from wmrl_gym.sandboxes.docker.views import View


@pytest.fixture
def sandbox() -> Iterator[DockerSandbox]:
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def no_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """As if this were a version whose image nobody has built; its image is removed."""
    monkeypatch.setattr(wmrl_gym, "__version__", "0.0.0.test")
    yield "wmrl-gym-sandbox:0.0.0.test"
    with engine() as client:
        for image in client.images.list("wmrl-gym-sandbox:0.0.0.test"):
            client.images.remove(image.id, force=True)


def test_everything_is_promised(sandbox: DockerSandbox) -> None:
    assert sandbox.probe().enforces == GUARANTEES


def test_a_missing_image_is_told_with_its_mend(sandbox: DockerSandbox, no_version: str) -> None:
    probe = sandbox.probe()
    assert not probe.works
    assert probe.reason == f"no image {no_version} here; build it: wmrl-gym sandbox build"
    result = sandbox.run(job("pass"))
    assert result.status is JobStatus.SANDBOX_ERROR
    assert no_version in result.error
    with engine() as client:
        assert client.images.list(no_version) == []


def test_the_image_is_built_here_and_holds_links_only(
    sandbox: DockerSandbox, no_version: str
) -> None:
    assert sandbox.build_image() == no_version
    assert sandbox.probe().works
    with engine() as client:
        assert client.images.get(no_version).attrs["Size"] < 4096


def test_an_image_of_another_installation_is_not_used(
    sandbox: DockerSandbox, no_version: str
) -> None:
    sandbox.build_image()
    with engine() as client:
        client.api.import_image_from_data(
            b"\0" * 1024,
            repository="wmrl-gym-sandbox",
            tag="0.0.0.test",
            changes=["LABEL wmrl-gym.layout=other"],
        )
        other = client.images.get(no_version).id
        assert "built for another installation" in sandbox.probe().reason
        sandbox.build_image()
        assert other not in {image.id for image in client.images.list(all=True)}
        mended = client.images.get(no_version).id
        sandbox.build_image()
        assert client.images.get(no_version).id == mended


def test_an_image_of_the_users_own_is_not_pulled(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMRL_GYM_DOCKER_IMAGE", "nobody/has-this:1")
    probe = sandbox.probe()
    assert not probe.works
    assert "docker pull nobody/has-this:1" in probe.reason


def test_without_an_engine_the_reason_comes_soon(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    began = time.monotonic()
    probe = sandbox.probe()
    assert time.monotonic() - began < 2.0
    assert not probe.works
    assert probe.reason.startswith("no Docker engine answers at unix:///nonexistent/docker.sock")


def test_an_engine_that_says_nothing_is_no_engine(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = str(tmp_path / "docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(path)
        mute.listen()
        began = time.monotonic()
        probe = sandbox.probe()
        assert 1.0 < time.monotonic() - began < 4.0
    assert "no Docker engine answers" in probe.reason


def test_without_the_package_the_extra_is_named(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    assert 'pip install "wmrl-gym[docker]"' in sandbox.probe().reason


def test_what_the_engine_was_told(sandbox: DockerSandbox, tmp_path: Path) -> None:
    given = job(
        "import time; time.sleep(30)",
        data={"input": tmp_path},
        memory_mb=200,
        scratch_mb=50,
        file_mb=10,
        processes=90,
        threads=1,
    )
    thread = threading.Thread(target=sandbox.run, args=(given,))
    assert sandbox.probe().works
    thread.start()
    with engine() as client:
        container = client.containers.get(wait_for_container(_owner(sandbox)))
        told, config = container.attrs["HostConfig"], container.attrs["Config"]
    sandbox.close()
    thread.join()
    assert told["Memory"] == told["MemorySwap"] == (200 + 50 + 64) << 20
    assert (told["NanoCpus"], told["PidsLimit"], told["ShmSize"]) == (10**9, 91, 50 << 20)
    assert (told["ReadonlyRootfs"], told["NetworkMode"], told["IpcMode"]) == (
        True,
        "none",
        "private",
    )
    assert (told["CapDrop"], told["CapAdd"]) == (["ALL"], None)
    assert told["SecurityOpt"] == ["no-new-privileges:true"]
    assert not told["Privileged"]
    assert not told["AutoRemove"]
    assert {u["Name"]: (u["Soft"], u["Hard"]) for u in told["Ulimits"]} == {
        "core": (0, 0),
        "nofile": (1024, 1024),
        "fsize": (10 << 20, 10 << 20),
    }
    assert told["LogConfig"]["Config"] == {"max-size": "1m", "max-file": "1"}
    assert all(mount["ReadOnly"] for mount in told["Mounts"])
    assert "size=50m" in told["Tmpfs"]["/kaggle"]
    assert config["User"] == "65534:65534"
    assert config["NetworkDisabled"]
    assert 30 < int(config["Labels"]["wmrl-gym.deadline"]) - time.time() < 600


def _owner(sandbox: DockerSandbox) -> str:
    assert sandbox._site is not None
    return str(sandbox._site.owner)


# Page tables belong to no process that could be watched: only the cgroup counts them.
_PAGE_TABLES = """
    import mmap, os, time
    area = mmap.mmap(-1, 16 << 30)

    def touch():
        for offset in range(0, 16 << 30, 2 << 20):
            area[offset]

    for _ in range(16):
        if os.fork() == 0:
            touch()
            time.sleep(60)
"""


def test_a_child_that_the_kernel_killed_is_no_success(sandbox: DockerSandbox) -> None:
    script = _PAGE_TABLES + "    print('killed by', -os.waitstatus_to_exitcode(os.wait()[1]))"
    result = sandbox.run(job(script, memory_mb=64, scratch_mb=1))
    assert (result.status, result.exit_code) == (JobStatus.ERROR, 0), result
    assert result.stdout == "killed by 9\n"
    assert "killed by the memory limit of 64 MiB" in result.stderr


def test_a_program_that_the_kernel_killed_is_out_of_memory(sandbox: DockerSandbox) -> None:
    script = _PAGE_TABLES + "    os.wait(); os.abort()"
    result = sandbox.run(job(script, memory_mb=64, scratch_mb=1))
    assert (result.status, result.exit_code) == (JobStatus.OUT_OF_MEMORY, -6), result


def test_all_that_is_written_counts_together(sandbox: DockerSandbox) -> None:
    script = """
        import time
        for name in ("/kaggle/working/a", "/dev/shm/b"):
            with open(name, "wb") as file:
                file.write(b"x" * (15 << 20))
        print("all written", flush=True)
        time.sleep(10)
    """
    result = sandbox.run(job(script, scratch_mb=20))
    assert result.status is JobStatus.ERROR
    assert "limit of 20 MiB" in result.stderr


def test_an_output_larger_than_the_memory_limit_comes_back(sandbox: DockerSandbox) -> None:
    script = """
        with open("out", "wb") as file:
            for _ in range(200):
                file.write(b"x" * (1 << 20))
    """
    result = sandbox.run(job(script, outputs=["out"], memory_mb=64, scratch_mb=220))
    assert (result.status, result.error) == (JobStatus.OK, "")
    assert len(result.outputs["out"]) == 200 << 20


def test_the_machine_is_not_shown(sandbox: DockerSandbox) -> None:
    script = """
        import os
        print([name for name in os.listdir("/sys") if name != "fs" and os.listdir(f"/sys/{name}")])
        print(os.listdir("/run/wmrl-gym"), os.listdir("/etc"))
    """
    lines = sandbox.run(job(script)).stdout.splitlines()
    assert lines[0] == "[]"
    assert lines[1].startswith("[] ")
    assert "docker" not in lines[1]


def test_the_watcher_ends_at_its_deadline_whatever_happens(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dead man's switch goes off before the watcher's own limit on time."""
    assert sandbox.probe().works
    monkeypatch.setattr("wmrl_gym.sandboxes.docker.sandbox.GRACE_S", -28.0)
    began = time.monotonic()
    result = sandbox.run(job("import time; time.sleep(60)", wall_s=30.0))
    assert result.status is JobStatus.SANDBOX_ERROR
    assert "ended without an answer" in result.error
    assert 1.5 < time.monotonic() - began < 15.0


def test_a_container_that_is_killed_is_our_failure(sandbox: DockerSandbox) -> None:
    results: list[JobResult] = []
    assert sandbox.probe().works
    thread = threading.Thread(
        target=lambda: results.append(sandbox.run(job("import time; time.sleep(60)")))
    )
    thread.start()
    with engine() as client:
        client.containers.get(wait_for_container(_owner(sandbox))).kill()
    thread.join(30)
    assert results[0].status is JobStatus.SANDBOX_ERROR


def test_an_image_without_python_is_told(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.build_image()
    monkeypatch.setenv("WMRL_GYM_DOCKER_IMAGE", f"wmrl-gym-sandbox:{wmrl_gym.__version__}")
    probe = sandbox.probe()
    assert not probe.works
    assert '"python": executable file not found' in probe.reason


def _arguments(gpus: list[str]) -> dict[str, object]:
    view = View(image="i", binds=())
    return arguments(view, Limits(gpus=len(gpus)), binds=[], labels={}, gpus=gpus, processors=4)


def test_leased_gpus_are_asked_for_by_id() -> None:
    asked = _arguments(["GPU-aa", "GPU-bb"])
    assert json.loads(json.dumps(asked["device_requests"])) == [
        {
            "Driver": "",
            "Count": 0,
            "DeviceIDs": ["GPU-aa", "GPU-bb"],
            "Capabilities": [["gpu"]],
            "Options": {},
        }
    ]
    assert "NVIDIA_VISIBLE_DEVICES" not in asked["environment"]


def test_without_a_lease_no_gpu_gets_in() -> None:
    asked = _arguments([])
    assert asked["device_requests"] == []
    assert asked["environment"]["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_gpu_that_is_not_there_is_our_failure(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = sandbox.run(job("pass", gpus=1))
    assert result.status is JobStatus.SANDBOX_ERROR
    assert "limits.gpus=1, but this process sees 0 GPUs" in result.error
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-not-there")
    result = sandbox.run(job("pass", gpus=1))
    assert result.status is JobStatus.SANDBOX_ERROR
    assert "gpu" in result.error
