"""What a foreign grader makes of submissions that are known: the sample, and the answers.

It tells the direction of the metric where nothing else does, gives references where there is no
leaderboard, and shows whether parts of the rows can be graded. It is found out once, in the
grading sandbox, and kept in the cache under the version of the task.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from wmrl_gym.envs.mle.grading.evaluation import GraderError, GraderFault, evaluate
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values
from wmrl_gym.envs.mle.importers.foreign import ForeignGrading, Subject
from wmrl_gym.envs.mle.prepare import cache_directory

_KNOWN: tuple[Subject, ...] = ("answers", "sample")


@dataclass(frozen=True)
class Calibration:
    """What was found out."""

    split: bool = False
    """Whether parts of the rows can be graded."""
    sample: float | None = None
    """The metric of the sample submission on the private rows; `None` if it cannot be graded."""
    answers: float | None = None
    """The metric of the answers themselves; `None` if they cannot be graded."""
    shuffled: float | None = None
    """The metric of the answers given to the wrong rows, where the sample cannot be graded."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the grader prints beside the metric, by name."""

    @property
    def higher_is_better(self) -> bool | None:
        """Direction of the metric, as answers beat what knows none; `None` if it does not show."""
        weak = self.shuffled if self.sample is None else self.sample
        if weak is None or self.answers is None or weak == self.answers:
            return None
        return self.answers > weak


def calibrate(grading: ForeignGrading, version: str, facts: Sequence[str] = ()) -> Calibration:
    """Find out, or look up.

    Args:
        grading: How the task is graded.
        version: Version of the task.
        facts: Names of numbers that the grader prints beside the metric.

    Returns:
        What was found out. Nothing, and nothing is kept, if the grader fails on all that is known.

    Raises:
        GraderError: If the sandbox failed.
        SandboxUnavailableError: If there is no sandbox.
    """
    place = cache_directory() / "imported" / version / "calibration.json"
    if place.is_file():
        return Calibration(**json.loads(place.read_text(encoding="utf-8")))
    try:
        found = _find_out(grading, facts)
    except GraderError as error:
        if error.fault is GraderFault.SANDBOX:
            raise
        return Calibration()  # a grader that hangs, say, is met again at the next submission
    if found.sample is not None or found.answers is not None:
        _keep(found, place)
    return found


def _find_out(grading: ForeignGrading, facts: Sequence[str]) -> Calibration:
    values = {subject: _graded(grading, subject, split=True) for subject in _KNOWN}
    failed = [subject for subject in _KNOWN if values[subject] is None]
    whole = {subject: _graded(grading, subject, split=False) for subject in failed}
    split = all(value.public is not None for value in values.values() if value)
    if any(whole.values()):
        # Parts are graded for all submissions or for none, or scores would not compare.
        split = False
        values = {subject: _graded(grading, subject, split=False) for subject in _KNOWN}
    works = next((subject for subject in _KNOWN if values[subject]), None)
    if works is None:
        return Calibration()
    numbers = {name: _graded(grading, works, split=False, number=name) for name in facts}
    by_chance = None if values["sample"] else _graded(grading, "shuffled", split=split)
    return Calibration(
        split=split,
        sample=_private(values["sample"]),
        answers=_private(values["answers"]),
        shuffled=_private(by_chance),
        facts={name: number.all for name, number in numbers.items() if number is not None},
    )


def _private(values: Values | None) -> float | None:
    return None if values is None else values.private


def _graded(
    grading: ForeignGrading, subject: Subject, *, split: bool, number: str | None = None
) -> Values | None:
    """The metric of a known submission; `None` if it cannot be graded."""
    try:
        return evaluate(grading.grader(subject=subject, split=split, number=number), b"")
    except InvalidSubmissionError:
        return None
    except GraderError as error:
        if error.fault is not GraderFault.ERROR:
            raise
        return None


def _keep(found: Calibration, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=place.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(found), file)
    Path(draft).replace(place)
