"""The directory of a run: what it was asked for, what happened, and where to go on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wmrl_gym.cli.train_config import TrainConfig
from wmrl_gym.errors import RunError

_RECORDED_PACKAGES = (
    "wmrl-gym",
    "gymnasium",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "stable-baselines3",
    "torch",
)


@dataclass(frozen=True)
class RunDirectory:
    """Paths and files of one run."""

    path: Path

    def require_new(self) -> None:
        """Refuse to go on where there is a run already.

        Raises:
            RunError: If there is one.
        """
        if self.config_file.exists():
            raise RunError(
                f"run={self.path} exists: continue it with --resume, or choose another name"
            )

    def require_existing(self) -> None:
        """Refuse to go on where there is no run.

        Raises:
            RunError: If there is none.
        """
        if not self.config_file.exists():
            raise RunError(
                f"run={self.path} is not the directory of a run: there is no config.json"
            )

    def create(self, config: TrainConfig) -> None:
        """Make the directory of a new run."""
        self.path.mkdir(parents=True, exist_ok=True)
        versions = {name: version(name) for name in _RECORDED_PACKAGES}
        versions["python"] = platform.python_version()
        self._write("versions.json", versions)
        # Last: a directory without it is not a run yet.
        self._write("config.json", asdict(config))

    @property
    def config_file(self) -> Path:
        """The arguments of the run, resolved."""
        return self.path / "config.json"

    @property
    def store(self) -> Path:
        """Every real execution with its outcome (SQLite)."""
        return self.path / "executions.sqlite"

    @property
    def initial_policy(self) -> Path:
        """The agent before training."""
        return self.path / "initial.zip"

    @property
    def checkpoint(self) -> Path:
        """The agent, the correction and the world model after the last finished batch."""
        return self.path / "checkpoint.pt"

    def config(self) -> TrainConfig:
        """The arguments that the run was started with."""
        return TrainConfig.from_json(json.loads(self.config_file.read_text()))

    def log(self, metrics: Mapping[str, float]) -> None:
        """Append a line to `metrics.jsonl`."""
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics) + "\n")

    def metrics(self) -> Iterator[dict[str, float]]:
        """The lines of `metrics.jsonl`."""
        file = self.path / "metrics.jsonl"
        for line in file.read_text().splitlines() if file.exists() else ():
            yield json.loads(line)

    def truncate_metrics(self, groups: int) -> None:
        """Drop lines of batches that the checkpoint does not know: they will come again."""
        kept = [line for line in self.metrics() if line["groups"] <= groups]
        (self.path / "metrics.jsonl").write_text("".join(json.dumps(m) + "\n" for m in kept))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write `result.json`, the figures of the final table."""
        self._write("result.json", result)

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        replace_file(self.path / name, (json.dumps(content, indent=2) + "\n").encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a kill leaves either the old one or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)
