from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.sandboxes.backends import ALL, BACKENDS
from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes import BACKEND_NAMES, GUARANTEES, probe_all, select_sandbox
from wmrl_gym.sandboxes.bubblewrap import BubblewrapSandbox


def test_names() -> None:
    names = ("forkserver", "bubblewrap", "landlock", "docker", "unsafe-subprocess")
    assert names == BACKEND_NAMES


def test_nothing_heavy_is_imported() -> None:
    script = """
import sys
import wmrl_gym.sandboxes
print({"docker", "requests", "pandas", "sklearn"} & set(sys.modules))
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("set()\n", "")


def test_auto_prefers_the_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WMRL_GYM_SANDBOX", raising=False)
    assert select_sandbox().name == "forkserver"


def test_the_environment_variable_decides_for_auto_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMRL_GYM_SANDBOX", "landlock")
    assert select_sandbox().name == "landlock"
    assert select_sandbox("bubblewrap").name == "bubblewrap"
    monkeypatch.setenv("WMRL_GYM_SANDBOX", "nonsense")
    with pytest.raises(ValueError, match=r"nonsense.*forkserver"):
        select_sandbox()


def test_the_same_object_is_shared() -> None:
    assert select_sandbox("landlock") is select_sandbox("landlock")


def test_a_fork_gets_another_object() -> None:
    mine = select_sandbox("landlock")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = int(select_sandbox("landlock") is mine)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"backend='chroot'.*docker"):
        select_sandbox("chroot")
    with pytest.raises(ValueError, match="tree_kil"):
        select_sandbox(require={"tree_kil"})


def test_requirements_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WMRL_GYM_SANDBOX", raising=False)
    assert select_sandbox(require=GUARANTEES).name == "forkserver"
    with pytest.raises(SandboxUnavailableError, match=r"landlock: .*scratch_bounded"):
        select_sandbox("landlock", require={"scratch_bounded"})


def test_a_missing_program_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    probe = BubblewrapSandbox().probe()
    assert not probe.works
    assert "install" in probe.reason


@pytest.mark.slow
def test_where_nothing_works_every_reason_is_told() -> None:
    """A caller that may not make namespaces, has no bwrap and is confined already."""
    script = """
import ctypes, errno, os, warnings
warnings.simplefilter("error")
import wmrl_gym.sandboxes as sandboxes
from wmrl_gym.errors import SandboxUnavailableError
from wmrl_gym.sandboxes.guest import seccomp
seccomp.install([1, 2, 10], ignore_metadata=False)  # refuses unshare and mount
for number in (444,):  # landlock_create_ruleset, as old kernels answer
    seccomp._DENIED.clear(); seccomp._DENIED["landlock"] = number
    seccomp.install([1, 2, 10], ignore_metadata=False)
try:
    sandboxes.select_sandbox()
except SandboxUnavailableError as error:
    print(error)
"""
    engine = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    environment = {**os.environ, "PATH": "/nonexistent", "WMRL_GYM_SANDBOX": "", **engine}
    told = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert told.stderr == ""
    lines = told.stdout.splitlines()
    assert lines[0] == "no usable sandbox:"
    assert lines[1].startswith("  forkserver: ")
    assert "Operation not permitted" in lines[1]
    assert lines[2].startswith("  bubblewrap: no `bwrap`")
    assert lines[3].startswith("  landlock: the kernel has version 0")
    assert lines[4].startswith("  docker: no Docker engine answers at unix:///nonexistent")
    assert lines[5].startswith("Install bubblewrap")
    assert "unsafe" not in told.stdout


def test_probes_name_what_holds() -> None:
    probes = {probe.backend: probe for probe in probe_all()}
    assert tuple(probes) == ALL
    assert all(probes[name].works and not probes[name].reason for name in BACKENDS)
    assert probes["forkserver"].enforces == probes["bubblewrap"].enforces == GUARANTEES
    assert probes["landlock"].enforces == GUARANTEES - {"scratch_bounded"}
