"""The episodes of a run as a small block of text that the page unpacks itself.

Scripts of one run share most of their lines, so every line is stored once and a script is a list
of line numbers; all of it is JSON, compressed. The browser needs nothing but `JSON.parse` and
its own decompression.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_gym.executors.episode_log import EpisodeRow

MOST_BYTES = 3_000_000
"""Size of the packed episodes, of which the page must not take more than 5 MB in all."""
MOST_VIDEO_BYTES = 1_000_000
"""Size of all videos inside the page; of more, the page gives the path."""
COLUMNS = (
    "group",
    "task",
    "anchor",
    "real",
    "predicted",
    "calibrated",
    "true",
    "weight",
    "version",
    "seconds",
    "valid",
    "status",
)


def pack(rows: Sequence[EpisodeRow]) -> tuple[str, int]:
    """Pack episodes, with as many artifacts as fit.

    Args:
        rows: The episodes. Artifacts of those that were executed come first.

    Returns:
        Base64 of compressed JSON, at most about `MOST_BYTES` long, and how many artifacts are in.
    """
    wanted = sorted(range(len(rows)), key=lambda i: (not rows[i].real, i))
    count = len(wanted)
    while True:
        packed = _compress(_content(rows, frozenset(wanted[:count])))
        if len(packed) <= MOST_BYTES or count == 0:
            return packed, count
        # In proportion, and a little less, so that it ends after a few rounds.
        count = min(count - 1, int(0.9 * count * MOST_BYTES / len(packed)))


def pack_videos(rows: Sequence[EpisodeRow], directory: Path) -> dict[str, str]:
    """Videos by path, as data addresses, as many as fit into `MOST_VIDEO_BYTES`."""
    videos: dict[str, str] = {}
    room = MOST_VIDEO_BYTES
    for name in dict.fromkeys(row.video for row in rows if row.video):
        file = directory / name
        if not file.is_file() or file.stat().st_size * 4 // 3 > room:
            continue
        kind = "image/gif" if file.suffix == ".gif" else "video/mp4"
        encoded = base64.b64encode(file.read_bytes()).decode()
        room -= len(encoded)
        videos[name] = f"data:{kind};base64,{encoded}"
    return videos


def _content(rows: Sequence[EpisodeRow], with_artifact: frozenset[int]) -> dict[str, Any]:
    lines: dict[str, int] = {}
    artifacts = [
        _numbered(row.artifact, lines) if i in with_artifact else None for i, row in enumerate(rows)
    ]
    feedback = [
        _numbered(row.feedback, lines) if i in with_artifact else None for i, row in enumerate(rows)
    ]
    columns = {name: [_short(getattr(row, name)) for row in rows] for name in COLUMNS}
    videos = [row.video for row in rows]
    return {
        **columns,
        "artifact": artifacts,
        "feedback": feedback,
        "video": videos,
        "lines": list(lines),
    }


def _numbered(text: str, lines: dict[str, int]) -> list[int]:
    return [lines.setdefault(line, len(lines)) for line in text.split("\n")]


def _short(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{value:.4g}")
    return value


def _compress(content: dict[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
