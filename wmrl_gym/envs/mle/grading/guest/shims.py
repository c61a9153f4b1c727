"""Stands in for the packages that graders of other benchmarks import, without what they need.

Only what graders use is there, written from the interfaces: the exceptions, the base class, a
few readers and helpers. Kaggle, TensorFlow and the rest of those packages are not needed.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.grading.guest import mle_bench_helpers
from wmrl_gym.envs.mle.grading.guest.mle_bench_helpers import ForeignInvalidSubmissionError

_HELPERS = (
    "df_to_one_hot",
    "is_one_hot_encoded",
    "one_hot_dfs_to_log_loss_inputs",
    "prepare_for_accuracy_metric",
    "prepare_for_auroc_metric",
    "rle_decode",
    "rle_encode",
    "rles_to_masks",
)


class CompetitionMetrics:
    """Base class of the metrics of MLE-Dojo."""

    def __init__(self, higher_is_better: bool = True) -> None:
        self.higher_is_better = higher_is_better

    def evaluate(self, y_true: Any, y_pred: Any) -> float:
        """The metric; subclasses say which."""
        raise TypeError(f"{type(self).__name__} does not define evaluate")

    def validate_submission(self, submission: Any, ground_truth: Any) -> Any:
        """Raise for an invalid submission; subclasses say when."""
        return "no check is defined"


def install_mle_bench(competition: str, definition: Path) -> str:
    """Make `import mlebench` work, with the code of one competition in it.

    Args:
        competition: Its name; hyphens are fine.
        definition: Directory of its code.

    Returns:
        The name of the package of that code.
    """
    _install("mlebench")
    _install(
        "mlebench.utils",
        read_csv=_read_csv,
        read_jsonl=_read_jsonl,
        load_answers=_load_answers,
        get_logger=logging.getLogger,
    )
    _install("mlebench.grade_helpers", InvalidSubmissionError=ForeignInvalidSubmissionError)
    _install("mlebench.competitions")
    helpers = {name: getattr(mle_bench_helpers, name) for name in _HELPERS}
    _install("mlebench.competitions.utils", **helpers)
    package = _install(f"mlebench.competitions.{competition.replace('.', '_')}")
    package.__path__ = [str(definition)]
    return package.__name__


def install_mle_dojo() -> None:
    """Make `import mledojo.metrics.base` work."""
    _install("mledojo")
    _install("mledojo.metrics")
    _install(
        "mledojo.metrics.base",
        CompetitionMetrics=CompetitionMetrics,
        InvalidSubmissionError=ForeignInvalidSubmissionError,
    )


def _install(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


def _read_csv(*args: Any, **kwargs: Any) -> pd.DataFrame:
    table: pd.DataFrame = pd.read_csv(*args, **{"float_precision": "round_trip", **kwargs})
    return table


def _read_jsonl(file_path: str, skip_commented_out_lines: bool = False) -> list[Any]:
    lines = Path(file_path).read_text(encoding="utf-8").splitlines()
    if skip_commented_out_lines:
        lines = [line for line in lines if line.strip() and not line.startswith(("#", "//"))]
    return [json.loads(line) for line in lines]


def _load_answers(path_to_answers: Path) -> Any:
    path = Path(path_to_answers)
    return _read_jsonl(str(path)) if path.suffix == ".jsonl" else _read_csv(path)
