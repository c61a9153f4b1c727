from __future__ import annotations

import os
from pathlib import Path

import pytest

from wmrl_gym.sandboxes.staging import Staging


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    (path / "sub").mkdir(parents=True)
    (path / "sub" / "a.csv").write_text("a")
    (path / "link").symlink_to("/etc/passwd")
    for directory in (path, path / "sub"):
        directory.chmod(0o755)
    (path / "sub" / "a.csv").chmod(0o644)
    return path


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    (tmp_path / "copies").mkdir()
    return Staging(tmp_path / "copies")


def test_what_all_may_read_is_used_as_it_is(staging: Staging, data: Path) -> None:
    assert staging.readable(data) == data
    assert staging.readable(data) == data


@pytest.mark.parametrize(
    ("name", "mode"), [("", 0o700), ("sub", 0o750), ("sub/a.csv", 0o600), ("sub", 0o751)]
)
def test_what_is_closed_is_copied_open(staging: Staging, data: Path, name: str, mode: int) -> None:
    (data / name).chmod(mode)
    os.mkfifo(data / "fifo")
    copy = staging.readable(data)
    assert copy != data
    assert sorted(p.name for p in copy.rglob("*")) == ["a.csv", "link", "sub"]
    assert (copy / "sub" / "a.csv").read_text() == "a"
    assert os.readlink(copy / "link") == "/etc/passwd"
    assert {p.stat().st_mode & 0o777 for p in (copy, copy / "sub")} == {0o755}
    assert (copy / "sub" / "a.csv").stat().st_mode & 0o777 == 0o644
    assert staging.readable(data) == copy


def test_a_change_is_copied_anew(staging: Staging, data: Path) -> None:
    data.chmod(0o700)
    before = staging.readable(data)
    (data / "sub" / "a.csv").write_text("changed")
    after = staging.readable(data)
    assert (before / "sub" / "a.csv").read_text() == "a"
    assert (after / "sub" / "a.csv").read_text() == "changed"
