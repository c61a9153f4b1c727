"""Directories of runs, with as many episodes as asked for."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from wmrl_gym.executors.episode_log import FILE, EpisodeRow, append_rows

LINES = [f"step_{i} = fit(model_{i % 7}, data[{i}:])" for i in range(400)]


def rows(count: int, *, seed: int = 0, video: str = "") -> list[EpisodeRow]:
    """Episodes in groups of 8, one group in ten an anchor, each with a script of 60 lines."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        group = i // 8
        anchor = group % 10 == 0
        true = float(rng.random())
        predicted = float(np.clip(0.5 * true + 0.4 + 0.1 * rng.standard_normal(), 0, 1))
        made.append(
            EpisodeRow(
                group=group,
                task=("iron", "tin", "<b>zinc</b>")[group % 3],
                anchor=anchor,
                real=anchor,
                predicted=predicted,
                calibrated=float(np.clip(2 * predicted - 0.8, 0, 1)),
                true=true if anchor else math.nan,
                weight=2.0 if anchor else 1.0,
                version=group // 8,
                seconds=0.5,
                valid=True,
                status=6,
                artifact="\n".join(LINES[k] for k in rng.integers(400, size=60)),
                feedback=f"score {true:.3f} </script>",
                video=video if i == 0 else "",
            )
        )
    return made


def make_run(path: Path, *, episodes: int = 400, batches: int = 20, video: str = "") -> Path:
    """The directory of a run that has finished."""
    path.mkdir(parents=True)
    config = {"env": "WMRL-Synthetic-v0", "tasks": ["iron", "tin"], "seed": 0, "name": path.name}
    (path / "config.json").write_text(json.dumps(config))
    (path / "versions.json").write_text(json.dumps({"python": "3.11.7", "numpy": "2.4.6"}))
    with (path / "metrics.jsonl").open("w") as file:
        for batch in range(1, batches + 1):
            entry = {
                "groups": 8.0 * batch,
                "groups_real": 0.8 * batch,
                "elapsed": 2.5 * batch,
                "score": 0.5 + 0.01 * batch,
                "executions_real": 6.4 * batch,
                "executions_avoided": 57.6 * batch,
                "residual": math.nan if batch < 3 else 0.02,
                "rank_correlation": 0.6,
                "anchor_weight": 1.0 if batch < 5 else 2.0,
            }
            file.write(json.dumps(entry) + "\n")
    append_rows(path / FILE, rows(episodes, video=video))
    scores = {"iron": [0.4, 0.6], "tin": [0.5]}
    after = {"iron": [0.8, 0.9], "tin": [0.7]}
    (path / "result.json").write_text(json.dumps({"before": scores, "after": after}))
    return path
