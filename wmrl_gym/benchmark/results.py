"""What one arm did with one seed, as a file that can be read years later."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wmrl_gym.benchmark.arms import ARMS, dial_of, times
from wmrl_gym.errors import WMRLError

SCHEMA = "wmrl-gym/arm-result/1"
PACKAGES = ("wmrl-gym", "gymnasium", "numpy", "scikit-learn", "stable-baselines3", "torch")


class StudyError(WMRLError):
    """The results of a study are missing, foreign, or cannot be compared."""


@dataclass(frozen=True)
class ArmResult:
    """One arm, one seed: what it cost, and what its policy is worth.

    True scores are measured by real executions that no arm trained on, as a mean for each task.
    """

    scenario: str
    arm: str
    seed: int
    setting: Mapping[str, Any]
    """All arguments of the run, and the dials of its scenario."""
    before: Mapping[str, float]
    """True score on each task of the policy before training."""
    after: Mapping[str, float]
    """True score on each task of the policy after training."""
    held_out: tuple[str, ...]
    """Tasks among these that were never trained on."""
    curve: Mapping[str, list[float]]
    """By name, a number for each batch: `groups`, `executions`, `seconds`, `score`, ..."""
    executions: float
    """Real executions (or real steps, where the environment only steps)."""
    seconds: float
    """Wall-clock seconds of training."""
    core_seconds: float
    """CPU seconds of training, those of the real executions included."""
    groups: int
    machine: Mapping[str, Any] = field(default_factory=lambda: machine())

    def scores(self, *, held_out: bool) -> dict[str, float]:
        """True scores after training on the tasks that were held out, or on the others."""
        return {t: s for t, s in self.after.items() if (t in self.held_out) == held_out}

    def write(self, directory: Path) -> Path:
        """Write it to a file of its own, whole or not at all."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / file_name(self.arm, self.seed)
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps({"schema": SCHEMA, **asdict(self)}) + "\n")
        os.replace(temporary, file)
        return file


def file_name(arm: str, seed: int) -> str:
    """The name of the file of an arm and a seed."""
    return f"{arm}-{seed}.json"


def read_result(file: Path) -> ArmResult:
    """Read a result.

    Raises:
        StudyError: If the file is torn or foreign.
    """
    try:
        values = json.loads(file.read_text())
        schema = values.pop("schema")
        result = ArmResult(**values | {"held_out": tuple(values["held_out"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StudyError(f"{file} is no result of an arm: {error}") from error
    if schema != SCHEMA:
        raise StudyError(f"{file}: schema={schema!r} is not {SCHEMA!r}, which this version reads")
    return result


def read_results(directory: Path) -> tuple[list[ArmResult], list[str]]:
    """Read all results of a directory; what cannot be read is left out and named.

    Returns:
        Results, arms in the order of `ARMS` and then by seed, and notes in words.

    Raises:
        StudyError: If there is not one result.
    """
    results, notes = [], []
    for file in sorted(directory.glob("*.json")):
        try:
            results.append(read_result(file))
        except StudyError as error:
            notes.append(f"left out: {error}")
    if not results:
        raise StudyError(f"{directory} holds no result of an arm: run `wmrl-gym benchmark` first")
    return sorted(results, key=_place), notes


def _place(result: ArmResult) -> tuple[int, float, int]:
    dial = dial_of(result.arm)
    arm, value = (result.arm, 0.0) if dial is None else (dial[0], dial[2])
    known = list(ARMS)
    return known.index(arm) if arm in known else len(known), value, result.seed


def require_comparable(results: Iterable[ArmResult]) -> None:
    """Refuse arms of different scenarios, tasks or lengths.

    Raises:
        StudyError: If they differ; the message names two that do.
    """
    first: ArmResult | None = None
    for result in results:
        first = first or result
        for name, of in (
            ("scenario", result.scenario == first.scenario),
            ("tasks", sorted(result.after) == sorted(first.after)),
            (
                "number of groups",
                result.groups * times(first.arm) == first.groups * times(result.arm),
            ),
        ):
            if not of:
                raise StudyError(
                    f"{first.arm} (seed {first.seed}) and {result.arm} (seed {result.seed}) differ "
                    f"in their {name}: compare them apart"
                )


def machine() -> dict[str, Any]:
    """What a result was measured on, and with which versions."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "python": platform.python_version(),
        **found,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
