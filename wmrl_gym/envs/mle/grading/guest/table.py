"""Grades predictions for the rows of a table against its hidden answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.rules import TableRules
from wmrl_gym.envs.mle.grading.guest.submissions import read_predictions
from wmrl_gym.envs.mle.grading.guest.values import Values

ANSWERS = "answers.csv"
USAGE = "Usage"
"""Column of the answers that says which part a row belongs to."""
PUBLIC, PRIVATE = "Public", "Private"


def grade_table(rules: Mapping[str, Any], submission: Path) -> Values:
    """Match the rows by id, whatever their order, and compute the metric on each part.

    Args:
        rules: The fields of a `TableRules`.
        submission: The submitted file; `answers.csv` lies beside it, with the ids, the targets
            and `Usage`.

    Returns:
        The metric on the private, the public and all rows.

    Raises:
        InvalidSubmissionError: If the submission breaks the rules.
    """
    table = TableRules.from_json(rules)
    answers = pd.read_csv(
        submission.with_name(ANSWERS), dtype=str, keep_default_na=False, encoding="utf-8"
    )
    predictions = read_predictions(
        table, submission.read_bytes(), answers[table.id_column].tolist()
    )
    true = _targets(table, answers)
    usage = answers[USAGE].to_numpy()
    parts = {name: usage == name for name in (PUBLIC, PRIVATE)}

    def value(rows: NDArray[np.bool_]) -> float:
        return METRICS[table.metric].compute(true[rows], predictions[rows], table.classes)

    return Values(
        private=value(parts[PRIVATE]),
        public=value(parts[PUBLIC]) if parts[PUBLIC].any() else None,
        all=value(np.ones(len(usage), dtype=bool)),
    )


def _targets(rules: TableRules, answers: pd.DataFrame) -> NDArray[Any]:
    """`[N]` labels (str), or `[N]` or `[N, T]` values (float64)."""
    if rules.classes:
        return np.array(answers[rules.targets[0]].tolist())
    numbers = answers[list(rules.targets)].astype(float).to_numpy()
    return numbers[:, 0] if len(rules.targets) == 1 else numbers
