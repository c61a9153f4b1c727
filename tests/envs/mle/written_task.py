"""Tasks on tables that a test writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.importers import folder
from wmrl_gym.envs.mle.importers.task_file import to_toml
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.envs.mle.task import Grader


def write_folder(
    directory: Path,
    train: pd.DataFrame,
    test: pd.DataFrame,
    answers: pd.DataFrame,
    **fields: Any,
) -> Path:
    """A plain folder."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, table in (("train", train), ("test", test), ("answers", answers)):
        table.to_csv(directory / f"{name}.csv", index=False)
    (directory / "task.toml").write_text(to_toml(fields), encoding="utf-8")
    return directory


def folder_task(directory: Path, frame: pd.DataFrame, **fields: Any) -> TableTask:
    """A task on `frame`, the last 40 % of its rows hidden; it has a column `id`."""
    target, first = fields["target"], len(frame) - round(len(frame) * 0.4)
    test = frame[first:]
    write_folder(
        directory, frame[:first], test.drop(columns=target), test[["id", target]], **fields
    )
    return folder.load(directory, str(directory))


@dataclass(frozen=True)
class DirectoryTask:
    """Just what the lint looks at: public files and a grader, of a benchmark of someone else."""

    public: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Path] = field(default_factory=dict)
    name: str = "directory"

    @property
    def grader(self) -> Grader:
        return Grader("foreign", self.rules, files=self.files, data=self.data)
