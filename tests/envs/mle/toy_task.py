"""Tiny tasks with known answers, read from files that a test writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.sources import Source
from wmrl_gym.envs.mle.table_task import TableTask


@dataclass(frozen=True)
class FileSource(Source):
    """A CSV file anywhere, in the place of one in a package."""

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.files))


def toy_task(directory: Path, frame: pd.DataFrame, **fields: Any) -> TableTask:
    """A task on `frame`: regression on the column `y` unless `fields` say otherwise."""
    path = directory / "data.csv"
    frame.to_csv(path, index=False)
    texts = dict.fromkeys(("title", "about", "target_about", "licence", "origin"), "a toy")
    defaults: dict[str, Any] = {
        "name": "toy",
        "kind": "regression",
        "metric": "rmse",
        "targets": ("y",),
        "references": {"dummy": 4.0, "good": 1.0},
    }
    source = FileSource("toy", "toy", (str(path),))
    return TableTask(**{**texts, "source": source, **defaults, **fields})


def table_task(name: str) -> TableTask:
    """The built-in task of that name."""
    task = load_task(name)
    assert isinstance(task, TableTask)
    return task
