"""Calls graders that are Python functions: those of MLE-bench and of MLE-Dojo."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.grading.guest import shims
from wmrl_gym.envs.mle.grading.guest.mle_bench_helpers import ForeignInvalidSubmissionError
from wmrl_gym.envs.mle.grading.guest.parts import Part
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError


class MLEBenchFunction:
    """`grade(submission, answers) -> float` of a competition folder.

    Args:
        rules: `competition`, its name; `definition`, the path of its folder; `module` and
            `function` within.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        definition = Path(rules["definition"]).resolve()
        package = shims.install_mle_bench(rules["competition"], definition)
        sys.path.append(str(definition))  # for modules that import their neighbours plainly
        module = importlib.import_module(f"{package}.{rules['module']}")
        self._grade: Callable[[Any, Any], Any] = getattr(module, rules["function"])

    def __call__(self, part: Part) -> Any:
        """The metric on `part`."""
        # Graders write into what they are given.
        return _told(self._grade, part.submission.copy(), copy.deepcopy(part.answers))


class MLEDojoClass:
    """The subclass of `CompetitionMetrics` of a competition.

    Args:
        rules: `definition`, the path of its metric.py.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        shims.install_mle_dojo()
        sys.path.append(str(Path(rules["definition"]).resolve().parent))
        module = importlib.import_module(Path(rules["definition"]).stem)
        classes = [
            member
            for member in vars(module).values()
            if isinstance(member, type) and issubclass(member, shims.CompetitionMetrics)
        ]
        if not classes or classes[-1] is shims.CompetitionMetrics:
            raise ImportError("metric.py defines no subclass of CompetitionMetrics")
        self._metric = classes[-1]()

    def __call__(self, part: Part) -> Any:
        """The metric on `part`."""
        submission, answers = part.submission, part.answers
        said = _told(self._metric.validate_submission, submission.copy(), answers.copy())
        if isinstance(said, tuple) and said and said[0] is False:
            raise InvalidSubmissionError(str(said[-1]))
        return _told(self._metric.evaluate, answers.copy(), submission.copy())


def _told(function: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """What `function` gives; what it says of the submission, and an early exit, as our errors."""
    try:
        return function(first, second)
    except ForeignInvalidSubmissionError as error:
        raise InvalidSubmissionError(str(error)) from error
    except SystemExit as error:
        raise RuntimeError(f"the grader ended with exit code {error.code}") from error
