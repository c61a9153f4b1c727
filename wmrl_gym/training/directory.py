"""The directory of a run: what it was asked for, what happened, and where to go on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from wmrl_gym.errors import RunError
from wmrl_gym.executors.episode_log import FILE as EPISODES_FILE

_RECORDED_PACKAGES = (
    "wmrl-gym",
    "gymnasium",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "stable-baselines3",
    "torch",
    "transformers",
    "trl",
    "vllm",
)
CONFIG_FILE = "config.json"
Config = TypeVar("Config")


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

    def create(self, config: Any) -> None:
        """Make the directory of a new run.

        Args:
            config: Its arguments, a dataclass.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        found = {name: _version(name) for name in _RECORDED_PACKAGES}
        versions = {name: known for name, known in found.items() if known is not None}
        versions["python"] = platform.python_version()
        self._write("versions.json", versions)
        # Last: a directory without it is not a run yet.
        self._write(CONFIG_FILE, asdict(config))

    @property
    def config_file(self) -> Path:
        """The arguments of the run, resolved."""
        return self.path / CONFIG_FILE

    @property
    def store(self) -> Path:
        """Every real execution with its outcome (SQLite)."""
        return self.path / "executions.sqlite"

    @property
    def episodes(self) -> Path:
        """A line for every episode under a world model."""
        return self.path / EPISODES_FILE

    @property
    def initial_policy(self) -> Path:
        """The agent before training."""
        return self.path / "initial.zip"

    @property
    def checkpoint(self) -> Path:
        """The agent, the correction and the world model after the last finished batch."""
        return self.path / "checkpoint.pt"

    def values(self) -> dict[str, Any]:
        """The arguments that the run was started with, as JSON has them."""
        values: dict[str, Any] = json.loads(self.config_file.read_text())
        return values

    def config(self, kind: type[Config]) -> Config:
        """The arguments that the run was started with; see `config_from_json`."""
        return config_from_json(kind, self.values())

    def log(self, metrics: Mapping[str, float]) -> None:
        """Append a line to `metrics.jsonl`."""
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics) + "\n")

    def metrics(self) -> Iterator[dict[str, float]]:
        """The lines of `metrics.jsonl`."""
        file = self.path / "metrics.jsonl"
        for line in file.read_text().splitlines() if file.exists() else ():
            yield json.loads(line)

    def truncate_metrics(self, counter: str, last: float) -> None:
        """Drop lines of batches that the checkpoint does not know: they will come again.

        Args:
            counter: What of a line counts, "groups" say.
            last: What the checkpoint has of it.
        """
        kept = [line for line in self.metrics() if line[counter] <= last]
        (self.path / "metrics.jsonl").write_text("".join(json.dumps(m) + "\n" for m in kept))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write `result.json`, the figures of the final table."""
        self._write("result.json", result)

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        replace_file(self.path / name, (json.dumps(content, indent=2) + "\n").encode())


def config_from_json(kind: type[Config], values: Mapping[str, Any]) -> Config:
    """The dataclass of which `dataclasses.asdict` went through JSON.

    Args:
        kind: A dataclass whose lists are tuples.
        values: Its values. What it does not know is passed over, what is missing has its default.
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # it is a dataclass
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return kind(**{k: v for k, v in plain.items() if k in known})


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a kill leaves either the old one or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)
