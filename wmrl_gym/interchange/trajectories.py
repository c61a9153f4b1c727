"""Full episodes as JSON Lines: the format, its writer and its reader.

One line is one episode. A line is written by one call under a lock, so that several
processes may append to one file. A process that is killed while it writes leaves a torn
line, which the reader passes over.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from wmrl_gym.interchange.json_values import from_json_value, json_line

SCHEMA = "wmrl-gym/trajectory/1"
"""First field of every line. Its number changes when a reader of the old one would err."""


@dataclass(frozen=True)
class TrajectoryStep:
    """One step of an episode, as the environment answered it."""

    action: Any
    observation: Any
    """What followed the action."""
    reward: float
    """NaN if it was not finite."""
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]
    """As the environment gave it; what was not finite is `None`."""


@dataclass(frozen=True)
class Trajectory:
    """One episode. Arrays are arrays again; tuples have become lists."""

    env_id: str | None
    """Registered id; `None` for an environment that has none."""
    env_kwargs: Mapping[str, Any]
    """Arguments that `gymnasium.make` makes the environment with."""
    wrappers: tuple[str, ...]
    """Names of the wrappers below the recorder, the innermost first."""
    run: str
    """Identifies the recorder: episodes are numbered within it."""
    episode: int
    """Number of the episode in the order in which the recorder saw them start, from 0."""
    slot: int
    """Index of the sub-environment of a vector environment; 0 in a single one."""
    seed: int | None
    """Seed that the reset was given, if it was."""
    options: Mapping[str, Any]
    """Options that the reset was given."""
    observation: Any
    """First observation."""
    info: Mapping[str, Any]
    """`info` of the reset."""
    steps: tuple[TrajectoryStep, ...]
    finished: bool
    """Whether it terminated or was truncated, rather than being left in the middle."""
    started: datetime
    """When it was reset, in UTC."""
    seconds: float
    """Wall-clock duration from the reset to the last step, in seconds."""
    version: str
    """Version of `wmrl_gym` that recorded it."""

    @property
    def total_reward(self) -> float:
        """Undiscounted sum of the rewards; NaN if one of them is."""
        return float(sum(step.reward for step in self.steps))


def read_trajectories(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Read episodes back, one at a time and in the order in which they ended.

    Args:
        path: A file of `RecordTrajectories`. A torn line is passed over, wherever it is: it
            is what a killed process has left.

    Yields:
        The episodes.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a line is whole but is no trajectory of a version that is known here.
    """
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            fields = _whole(line)
            if fields is not None:
                yield _trajectory(fields, f"{os.fspath(path)}:{number}")


def append_line(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Append one line of strict JSON; the others of the file, torn or not, stay as they are."""
    line = json_line(fields)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_torn(descriptor):
            # Nobody writes while we hold the lock: the writer of that line is dead.
            line = b"\n" + line
        while line:
            line = line[os.write(descriptor, line) :]
    finally:
        os.close(descriptor)


def check_appendable(path: str | os.PathLike[str]) -> None:
    """Make the file and the directories above it, so that a bad path shows at once.

    Raises:
        ValueError: If nothing can be appended there.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
    except OSError as error:
        raise ValueError(f"path={os.fspath(path)!r} cannot be appended to: {error}") from error


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _whole(line: bytes) -> Any:
    """What a line says; `None` for a blank or a torn one."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _trajectory(fields: Any, where: str) -> Trajectory:
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"{where}: schema={schema!r} is not {SCHEMA!r}, which this version reads")
    try:
        return Trajectory(
            env_id=fields["env_id"],
            env_kwargs=from_json_value(fields["env_kwargs"]),
            wrappers=tuple(fields["wrappers"]),
            run=fields["run"],
            episode=fields["episode"],
            slot=fields["slot"],
            seed=fields["seed"],
            options=from_json_value(fields["options"]),
            observation=from_json_value(fields["observation"]),
            info=from_json_value(fields["info"]),
            steps=tuple(map(_step, fields["steps"])),
            finished=fields["finished"],
            started=datetime.fromisoformat(fields["started"]),
            seconds=fields["seconds"],
            version=fields["version"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{where}: it lacks or garbles a field of {SCHEMA}: {error}") from error


def _step(fields: Mapping[str, Any]) -> TrajectoryStep:
    reward = fields["reward"]
    return TrajectoryStep(
        action=from_json_value(fields["action"]),
        observation=from_json_value(fields["observation"]),
        reward=math.nan if reward is None else reward,
        terminated=fields["terminated"],
        truncated=fields["truncated"],
        info=from_json_value(fields["info"]),
    )
