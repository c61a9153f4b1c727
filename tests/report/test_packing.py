from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.runs import rows
from wmrl_gym.report import packing


def unpack(packed: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_episodes_survive_packing() -> None:
    given = rows(20)
    packed, artifacts = packing.pack(given)
    content = unpack(packed)
    assert artifacts == 20
    for i, row in enumerate(given):
        assert "\n".join(content["lines"][n] for n in content["artifact"][i]) == row.artifact
        assert content["group"][i] == row.group
        assert content["predicted"][i] == pytest.approx(row.predicted, abs=1e-4)
    assert content["true"][8] is None
    assert content["anchor"][0] == 1


def test_what_does_not_fit_is_left_out_predicted_episodes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = [replace(row, artifact=f"{i} {row.artifact}") for i, row in enumerate(rows(400))]
    monkeypatch.setattr(packing, "MOST_BYTES", 30_000)
    packed, artifacts = packing.pack(given)
    assert len(packed) <= 30_000
    assert 40 < artifacts < 400
    content = unpack(packed)
    assert all(content["artifact"][i] for i, row in enumerate(given) if row.real)
    assert sum(artifact is not None for artifact in content["artifact"]) == artifacts


def test_videos_are_packed_while_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.gif").write_bytes(b"GIF89a")
    (tmp_path / "large.mp4").write_bytes(b"0" * 2000)
    monkeypatch.setattr(packing, "MOST_VIDEO_BYTES", 1000)
    (row,) = rows(1)
    given = [replace(row, video=name) for name in ("large.mp4", "small.gif", "absent.gif", "")]
    videos = packing.pack_videos(given, tmp_path)
    assert videos == {"small.gif": "data:image/gif;base64,R0lGODlh"}
