"""A task on one table.

Its files are prepared on first use, in the layout that MLE-bench introduced, and cached (see
`wmrl_gym.envs.mle.prepare`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from wmrl_gym.envs.mle.describe import describe
from wmrl_gym.envs.mle.features import meta_features
from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.grading.guest.table import ANSWERS
from wmrl_gym.envs.mle.prepare import prepare
from wmrl_gym.envs.mle.table import Table
from wmrl_gym.envs.mle.task import SUBMISSION, Grader


class TableTask(Table):
    """A `Table` as a `Task`: described, prepared and graded."""

    @property
    def submission(self) -> str:
        """Name of the file that a solution leaves."""
        return SUBMISSION

    @property
    def description(self) -> str:
        """Everything that someone who solves the task is told, in Markdown."""
        return describe(self)

    @property
    def public(self) -> Path:
        """Directory with train.csv, test.csv, sample_submission.csv and description.md."""
        return prepare(self) / "public"

    @property
    def private(self) -> Path:
        """Directory with the answers, test.csv, that no solution may see."""
        return prepare(self) / "private"

    @property
    def grader(self) -> Grader:
        """Matches predictions with the answers by id."""
        return Grader("table", asdict(self.rules), files={ANSWERS: self.private / "test.csv"})

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric."""
        return METRICS[self.metric].higher_is_better

    @property
    def optimum(self) -> float:
        """Value of a perfect submission."""
        return METRICS[self.metric].optimum

    @property
    def leaderboard(self) -> Sequence[float]:
        """None: a table has references."""
        return ()

    @cached_property
    def _features(self) -> Mapping[str, float]:
        return meta_features(self, self.public)

    def features(self) -> dict[str, float]:
        """Numbers that describe the task, from its public files only.

        Returns:
            The same keys for every task, all finite, most in [0, 1], all in [-5, 5].
        """
        return dict(self._features)
