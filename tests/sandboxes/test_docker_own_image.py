"""An image of the user's own: its interpreter and its packages, our walls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.containers import engine
from tests.sandboxes.helpers import job
from tests.sandboxes.images import build_python_image
from wmrl_gym.sandboxes import GUARANTEES, JobStatus
from wmrl_gym.sandboxes.docker.sandbox import DockerSandbox

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with engine() as client:
        build_python_image(client, "wmrl-gym-test-own")
        yield "wmrl-gym-test-own:1"
        client.images.remove("wmrl-gym-test-own:1", force=True)


@pytest.fixture
def sandbox(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerSandbox]:
    monkeypatch.setenv("WMRL_GYM_DOCKER_IMAGE", image)
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.close()


def test_it_passes_the_trial(sandbox: DockerSandbox) -> None:
    probe = sandbox.probe()
    assert (probe.works, probe.reason) == (True, "")
    assert probe.enforces == GUARANTEES


def test_its_own_interpreter_and_settings_are_used(sandbox: DockerSandbox, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("data")
    script = """
        import os, sys, tempfile
        print(sys.executable, os.environ["PATH"], os.environ["OWN"], os.environ["GIVEN"])
        print(open("../input/a.txt").read(), tempfile.gettempdir(), os.getuid(), os.getcwd())
        open("/tmp/file", "w").close()
        open("out.txt", "w").write("written")
    """
    result = sandbox.run(
        job(script, data={"input": tmp_path}, outputs=["out.txt"], env={"GIVEN": "x"})
    )
    assert result.stderr == ""
    assert result.stdout == (
        "/opt/python/bin/python /opt/python/bin:/usr/bin image x\n"
        "data /kaggle/tmp 65534 /kaggle/working\n"
    )
    assert result.outputs == {"out.txt": b"written"}


def test_nothing_of_this_machine_is_shown(sandbox: DockerSandbox) -> None:
    script = """
        import os
        print([p for p in ("/usr/share", "/usr/bin/apt", "/home", "/var/tmp") if os.path.exists(p)])
    """
    assert sandbox.run(job(script)).stdout == "[]\n"


def test_data_that_tasks_are_made_from_is_masked(sandbox: DockerSandbox) -> None:
    script = """
        import os, sys
        (site,) = [path for path in sys.path if path.endswith("site-packages")]
        for name in ("sklearn/datasets/data", "scipy/io/tests/data"):
            print(os.listdir(os.path.join(site, name)))
    """
    result = sandbox.run(job(script))
    assert (result.stdout, result.stderr) == ("[]\n[]\n", "")


def test_what_it_writes_to_tmp_counts(sandbox: DockerSandbox) -> None:
    script = """
        import time
        for path in ("/tmp/a", "b"):
            with open(path, "wb") as file:
                file.write(b"x" * (15 << 20))
        time.sleep(10)
    """
    result = sandbox.run(job(script, scratch_mb=20))
    assert result.status is JobStatus.ERROR
    assert "limit of 20 MiB" in result.stderr
