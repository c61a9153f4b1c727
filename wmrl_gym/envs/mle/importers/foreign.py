"""The grader that a benchmark brings, as a `Grader` of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from wmrl_gym.envs.mle.task import Grader
from wmrl_gym.sandboxes import Limits

Subject = Literal["submission", "sample", "answers", "shuffled"]
"""What is graded: what was submitted, the sample submission, the answers themselves, or these
given to the wrong rows."""

_SENT_BYTES = 64 * 2**20
"""Files up to this size are sent; larger ones are read where they are."""


@dataclass(frozen=True)
class ForeignGrading:
    """How a task is graded by code of its benchmark."""

    caller: str
    """What calls the code, a key of `guest.foreign.METRICS_OF`."""
    rules: Mapping[str, Any]
    """What that has to know."""
    answers: Path | None = None
    sample: Path | None = None
    """The sample submission."""
    gold: Path | None = None
    """A perfect submission, where the answers are not in the form of one."""
    data: Mapping[str, Path] = field(default_factory=dict)
    """Directories that the code reads at `../<name>`."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Further files, by the plain name that the code finds them under."""
    wall_s: float = 120.0
    divisible: bool = True
    """Whether the code can be given a part of the rows; not if it reads whole files."""
    kind: str = "foreign"
    """The grader of `guest`."""

    def grader(
        self, *, subject: Subject = "submission", split: bool, number: str | None = None
    ) -> Grader:
        """The grader.

        Args:
            subject: What to grade.
            split: Whether to grade a public and a private part of the rows.
            number: Name of the number to take of those that a program prints; `None` for the
                metric.
        """
        files, data = dict(self.files), dict(self.data)
        places = {
            name: self._place(name, path, files, data)
            for name, path in (
                ("answers", self.answers),
                ("sample", self.sample),
                ("gold", self.gold),
            )
        }
        rules = {
            **self.rules,
            **places,
            "caller": self.caller,
            "subject": subject,
            "split": split and self.divisible,
        }
        if number is not None:
            rules["number"] = number
        return Grader(
            self.kind,
            rules,
            files=files,
            data=data,
            limits=Limits(wall_s=self.wall_s, memory_mb=4096),
        )

    def _place(
        self, name: str, path: Path | None, files: dict[str, Path], data: dict[str, Path]
    ) -> str | None:
        """Where the code finds a file; adds it to those that are sent, or its directory."""
        if path is None:
            return None
        if path.stat().st_size > _SENT_BYTES:
            data[f"of-{name}"] = path.parent
            return f"../of-{name}/{path.name}"
        sent = f"given-{name}{''.join(path.suffixes)}"
        files[sent] = path
        return sent
