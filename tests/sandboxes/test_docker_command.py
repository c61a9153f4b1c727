"""`wmrl-gym sandbox`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandboxes.containers import engine, labelled
from wmrl_gym.cli import main
from wmrl_gym.sandboxes.docker.image import built_image
from wmrl_gym.sandboxes.docker.sweep import labels_of


def test_build_names_the_image(capsys: pytest.CaptureFixture[str]) -> None:
    main(["sandbox", "build"])
    assert capsys.readouterr().out == f"{built_image()}\n"
    with engine() as client:
        assert client.images.get(built_image()).tags == [built_image()]


def test_build_without_an_engine_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")
    with pytest.raises(SystemExit, match="wmrl-gym: no Docker engine answers"):
        main(["sandbox", "build"])


def test_sweep_removes_what_is_abandoned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with engine() as client:
        labels = labels_of(tmp_path / "gone", -10.0)
        late = client.containers.create(built_image(), ["/bin/true"], labels=labels)
    main(["sandbox", "sweep"])
    assert f"removed container {late.id[:12]}" in capsys.readouterr().out
    assert late.id not in {container["Id"] for container in labelled()}


def test_sweep_without_an_engine_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")
    main(["sandbox", "sweep"])
    assert "containers were not looked for: no Docker engine" in capsys.readouterr().out


def test_list_shows_what_works_and_why_not() -> None:
    environment = {**os.environ, "DOCKER_HOST": "unix:///nonexistent", "COLUMNS": "200"}
    told = subprocess.run(
        [sys.executable, "-m", "wmrl_gym.cli", "sandbox", "list"],
        env=environment,
        capture_output=True,
        text=True,
    )
    rows = {line.split()[1]: line for line in told.stdout.splitlines() if line.startswith("│")}
    assert list(rows) == ["forkserver", "bubblewrap", "landlock", "docker"]
    assert "everything" in rows["forkserver"]
    assert "all but scratch_bounded" in rows["landlock"]
    assert "no Docker engine answers" in rows["docker"]
