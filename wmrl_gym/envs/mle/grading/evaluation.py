"""Runs a grader in a sandbox, and reads what it says.

Neither the grader nor the answers are anywhere that the agent's script could write to or read
from: its sandbox is gone when grading begins in another one. A grader that hangs, swallows
memory or fails to import is stopped or reported, and harms nothing but its own task.
"""

from __future__ import annotations

import functools
import io
import json
import math
import zipfile
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.grading import guest
from wmrl_gym.envs.mle.grading.guest.run import REQUEST, RESULT, SUBMITTED
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values
from wmrl_gym.envs.mle.grading.packages import grading_packages, hint
from wmrl_gym.envs.mle.task import Grader
from wmrl_gym.errors import WMRLError
from wmrl_gym.sandboxes import Job, JobResult, JobStatus, Sandbox, select_sandbox
from wmrl_gym.sandboxes.guest import landlock, syscalls

_CODE = "grading-code.zip"
_MAIN = f"""
import sys
sys.path.insert(0, {_CODE!r})
from {guest.__name__}.run import main
main()
"""
_FIND_PACKAGES = """
import os, sys
sys.path.append(os.path.abspath(".."))
"""


class GraderFault(StrEnum):
    """Why a grader gave no grade, through no fault of the submission."""

    ERROR = "grader_error"
    """It raised, exited early, or gave no finite number."""
    TIMEOUT = "grader_timeout"
    """It was stopped at its time limit."""
    OUT_OF_MEMORY = "grader_out_of_memory"
    """It was stopped at its memory limit."""
    SANDBOX = "sandbox_error"
    """Its sandbox failed."""


class GraderError(WMRLError):
    """A grader failed; the message begins with the `GraderFault`."""

    @property
    def fault(self) -> GraderFault:
        """What kind of failure it was."""
        return GraderFault(str(self).partition(":")[0])


def evaluate(grader: Grader, submission: bytes, sandbox: Sandbox | None = None) -> Values:
    """The metric of a submission on the hidden answers.

    Args:
        grader: What grades it.
        submission: Content of the submitted file.
        sandbox: Where the grader runs; `None` for the best back end that works here.

    Returns:
        The metric on the private, the public and all hidden rows.

    Raises:
        InvalidSubmissionError: If the submission breaks the rules of its task.
        GraderError: If the grader failed.
        MissingDependencyError: If a package that graders are to have is not installed.
    """
    request = json.dumps({"kind": grader.kind, "rules": dict(grader.rules)})
    packages = grading_packages()
    files = {
        **{name: path.read_bytes() for name, path in packages.files.items()},
        **{name: path.read_bytes() for name, path in grader.files.items()},
        "main.py": ((_FIND_PACKAGES if packages.data else "") + _MAIN).encode(),
        _CODE: _code(),
        REQUEST: request.encode(),
        SUBMITTED: submission,
    }
    job = Job(
        files=files, data={**packages.data, **grader.data}, outputs=[RESULT], limits=grader.limits
    )
    return _read((sandbox or select_sandbox()).run(job))


def _read(result: JobResult) -> Values:
    match result.status:
        case JobStatus.SANDBOX_ERROR:
            raise GraderError(f"{GraderFault.SANDBOX}: {result.error}")
        case JobStatus.TIMEOUT:
            raise GraderError(f"{GraderFault.TIMEOUT}: stopped after {result.wall_s:.0f} s")
        case JobStatus.OUT_OF_MEMORY:
            raise GraderError(f"{GraderFault.OUT_OF_MEMORY}: stopped at its memory limit")
        case JobStatus.ERROR:
            told = _last_lines(result.stderr)
            raise GraderError(f"{GraderFault.ERROR}: {told}{hint(told)}")
    if RESULT not in result.outputs:
        raise GraderError(f"{GraderFault.ERROR}: it ended without a result")
    try:
        return _values(json.loads(result.outputs[RESULT]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, InvalidSubmissionError):
            raise
        raise GraderError(f"{GraderFault.ERROR}: its result cannot be read: {error!r}") from error


def _values(answer: Any) -> Values:
    """What a result means. A hostile grader may have written it, so nothing is taken on trust."""
    if list(answer) == ["invalid"]:
        raise InvalidSubmissionError(str(answer["invalid"]))
    if list(answer) != ["values"] or set(answer["values"]) != {f.name for f in fields(Values)}:
        raise ValueError("it has neither values nor a reason")
    values = Values(**answer["values"])
    for name, value in asdict(values).items():
        absent = value is None and name == "public"
        if not absent and (type(value) is not float or not math.isfinite(value)):
            raise ValueError(f"the metric on the {name} rows is {value!r}")
    return values


def _last_lines(text: str, count: int = 3) -> str:
    return " | ".join(text.strip().splitlines()[-count:])


@functools.cache
def _code() -> bytes:
    """The modules of `guest` as an archive to import from, with empty packages around them.

    With them goes the part of the sandboxes that gives up rights.
    """
    root = Path(guest.__file__).parent.resolve()
    top = root.parents[len(guest.__name__.split(".")) - 1]
    walls = [Path(module.__file__ or "").resolve() for module in (landlock, syscalls)]
    paths = [*sorted(root.rglob("*.py")), *walls]
    packages = {package for path in paths for package in path.relative_to(top).parents[:-1]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for package in sorted(packages - {root.relative_to(top)}):
            archive.writestr(f"{package}/__init__.py", "")
        for path in paths:
            archive.write(path, path.relative_to(top))
    return buffer.getvalue()
