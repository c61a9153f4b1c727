from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.helpers import job, wait_until_gone
from wmrl_gym.sandboxes import JobStatus
from wmrl_gym.sandboxes.unsafe import UnsafeSubprocess


@pytest.fixture
def unsafe() -> Iterator[UnsafeSubprocess]:
    with pytest.warns(UserWarning, match="not a sandbox.*network"):
        sandbox = UnsafeSubprocess()
    yield sandbox
    sandbox.close()


def test_it_promises_nothing(unsafe: UnsafeSubprocess) -> None:
    probe = unsafe.probe()
    assert probe.works
    assert probe.enforces == frozenset()


def test_a_job_runs(unsafe: UnsafeSubprocess, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("data")
    script = "import sys\nopen('out', 'w').write(open('../input/a').read())\nsys.exit(3)"
    result = unsafe.run(job(script, data={"input": tmp_path}, outputs=["out"]))
    assert (result.status, result.exit_code) == (JobStatus.ERROR, 3)
    assert result.outputs == {"out": b"data"}


def test_time_and_output_are_bounded(unsafe: UnsafeSubprocess) -> None:
    mark = f"MARK={uuid.uuid4()}"
    name, value = mark.split("=")
    script = """
        import os, time
        print("x" * (1 << 20), flush=True)
        os.fork()
        time.sleep(60)
    """
    result = unsafe.run(job(script, wall_s=1.5, output_kb=4, env={name: value}))
    assert result.status is JobStatus.TIMEOUT
    assert result.truncated
    assert len(result.stdout) < 5000
    assert wait_until_gone(mark) == []


def test_memory_is_bounded(unsafe: UnsafeSubprocess) -> None:
    result = unsafe.run(job("bytearray(1 << 34)", memory_mb=256))
    assert result.status is JobStatus.OUT_OF_MEMORY
