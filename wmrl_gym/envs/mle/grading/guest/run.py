"""Entry point inside the sandbox: reads what to grade, writes what came of it."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wmrl_gym.envs.mle.grading.guest.parts import seed
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values

REQUEST, RESULT = "grading-request.json", "grading-result.json"
"""Files in the working directory."""
SUBMITTED = "submitted"
"""Directory-free name of the submitted file, whatever the agent called it."""

Grade = Callable[[Mapping[str, Any], Path], Values]

GRADERS: Mapping[str, str] = MappingProxyType(
    {
        "table": "table:grade_table",
        "foreign": "foreign:grade_foreign",
        "script": "scripts:grade_script",
    }
)
"""Module and function of each grader, by name; only the one that is asked for is imported."""


def main() -> None:
    """Grade, and write the values, or why the submission is invalid.

    The same submission gets the same values, whatever a grader draws or hashes.
    What else is raised ends the process: it is a fault of the grader.
    """
    request = json.loads(Path(REQUEST).read_text(encoding="utf-8"))
    seed()  # the order of sets is the sandbox's, which fixes PYTHONHASHSEED
    try:
        values = find(request["kind"])(request["rules"], Path(SUBMITTED))
        answer: dict[str, Any] = {"values": _checked(values)}
    except InvalidSubmissionError as error:
        answer = {"invalid": str(error)}
    Path(RESULT).write_text(json.dumps(answer), encoding="utf-8")


def find(kind: str) -> Grade:
    """The grader of that name."""
    module, function = GRADERS[kind].split(":")
    grade: Grade = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    return grade


def _checked(values: Values) -> dict[str, float | None]:
    """Plain floats; a metric that is not finite is a fault of the grader, and never a score."""
    plain = {name: None if v is None else float(v) for name, v in asdict(values).items()}
    for name, value in plain.items():
        if value is not None and not math.isfinite(value):
            raise ArithmeticError(f"the metric on the {name} rows is {value}")
    return plain
