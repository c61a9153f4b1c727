"""An imported task: what the layouts have in common once their files are found."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from wmrl_gym.envs.mle.importers.calibration import Calibration, calibrate
from wmrl_gym.envs.mle.importers.fingerprint import fingerprint
from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.known_metrics import KnownMetric, known_metric
from wmrl_gym.envs.mle.importers.layouts import ImportOptions
from wmrl_gym.envs.mle.importers.leaderboard import Leaderboard, read_leaderboard
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.traits import traits_of
from wmrl_gym.envs.mle.task import SUBMISSION, Grader
from wmrl_gym.errors import TaskError

SAMPLE, SHUFFLED = "sample submission", "shuffled answers"
"""Names of the reference that a task has of itself: the second if there is not the first."""
LOWER_IS_BETTER = "is_lower_better"
"""Number that graders print of themselves: 1 if lower is better."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class ImportedTask:
    """A `Task` that another benchmark describes. Files are read when a property asks for them."""

    name: str
    title: str
    layout: str
    """Name of the layout."""
    describe: Callable[[], str]
    """Reads the description."""
    files: PublicFiles
    grading: ForeignGrading
    metric: str
    options: ImportOptions
    definitions: Sequence[Path]
    """Files, or directories of files, that define the task; their content is in the version."""
    data: Sequence[Path]
    """Data, of which names, sizes and times are in the version."""
    submission: str = SUBMISSION
    boards: Sequence[Path] = ()
    """Leaderboards: the private one, then the public one if there are two."""
    declared_direction: bool | None = None
    """Whether higher is better, as far as the files say."""
    baselines: Mapping[str, float] = field(default_factory=dict)
    """Scores of reference that the files give, by name."""
    facts: Sequence[str] = ()
    """Names of numbers that the grader prints: thresholds, and perhaps `is_lower_better`."""
    licence: str = "see its source"
    origin: str = ""
    tags: Sequence[str] = ()
    remarks: Sequence[str] = ()
    """What a user should know of how the task was read."""

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know of how the task was read, its leaderboard included."""
        return (*self.remarks, *filter(None, [self._board.note]))

    @cached_property
    def version(self) -> str:
        """Changes whenever the same submission could score differently."""
        told = (self.options.higher_is_better, self.options.metric)
        facts = (self.layout, self.metric, self.grading.rules, self.submission, told)
        return fingerprint(self.definitions, self.data, repr(facts))

    @cached_property
    def description(self) -> str:
        """Everything that someone who solves the task is told, in Markdown."""
        return self.describe()

    @cached_property
    def public(self) -> Path:
        """Directory that solutions read, without answers and graders."""
        return self.files.directory(self.version)

    @property
    def grader(self) -> Grader:
        """What grades submissions."""
        return self.grading.grader(split=self.calibration.split)

    @cached_property
    def calibration(self) -> Calibration:
        """What the grader makes of the sample submission and of the answers."""
        return calibrate(self.grading, self.version, self.facts)

    @cached_property
    def higher_is_better(self) -> bool:
        """Direction of the metric.

        What the user says comes first, then what the files say, the order of the leaderboard,
        a comparison of the answers with the sample submission, and the name of the metric.

        Raises:
            TaskError: If none of these tells.
        """
        for direction in (
            self.options.higher_is_better,
            self.declared_direction,
            self._board.higher_is_better,
        ):
            if direction is not None:
                return direction
        direction = self._graded_direction()
        if direction is None:
            raise TaskError(
                f"task {self.name!r}: whether higher or lower is better in metric "
                f"{self.metric!r} does not show; import it with `wmrl-gym tasks import PATH "
                "--higher-is-better` or `--lower-is-better`"
            )
        return direction

    @cached_property
    def optimum(self) -> float | None:
        """Value of a perfect submission, if it is known."""
        told = known_metric(self.options.metric) if self.options.metric else None
        known = told or self._known
        if self.leaderboard:
            return None if known is None else known.optimum
        answers = self.calibration.answers
        if told is None and answers is not None and self._is_best(answers):
            return answers
        return None if known is None else known.optimum

    @cached_property
    def references(self) -> Mapping[str, float]:
        """Scores that the files give and, without a leaderboard, that of the sample submission."""
        if self.leaderboard:
            return dict(self.baselines)
        thresholds = {
            name.removesuffix("_threshold"): value
            for name, value in self.calibration.facts.items()
            if name != LOWER_IS_BETTER
        }
        weak = {SAMPLE: self.calibration.sample, SHUFFLED: self.calibration.shuffled}
        found = {name: value for name, value in weak.items() if value is not None}
        return {**self.baselines, **thresholds, **found}

    @cached_property
    def leaderboard(self) -> Sequence[float]:
        """Scores of the private leaderboard, best first; empty if there is none."""
        return self._best_first(self._board)

    @cached_property
    def public_leaderboard(self) -> Sequence[float]:
        """Scores of the public leaderboard, best first; empty if there are not two."""
        return self._best_first(read_leaderboard(self.boards[1])) if len(self.boards) > 1 else ()

    def features(self) -> dict[str, float]:
        """Numbers that describe the task, from its public files: the same keys for all tasks.

        Returns:
            Those of the built-in tasks; zeros where training data and one target cannot be told.
        """
        return dict(self._features)

    @cached_property
    def _features(self) -> Mapping[str, float]:
        return traits_of(self)

    @property
    def _known(self) -> KnownMetric | None:
        return known_metric(self.metric)

    @cached_property
    def _board(self) -> Leaderboard:
        board = read_leaderboard(self.boards[0]) if self.boards else Leaderboard()
        if board.note:
            _log.warning("task %s: %s", self.name, board.note)
        return board

    def _best_first(self, board: Leaderboard) -> Sequence[float]:
        if not board.scores:
            return ()
        return tuple(sorted(board.scores, reverse=self.higher_is_better))

    def _graded_direction(self) -> bool | None:
        facts = self.calibration.facts
        if LOWER_IS_BETTER in facts:
            return not facts[LOWER_IS_BETTER]
        by_answers = self.calibration.higher_is_better
        if by_answers is None and self._known is not None:
            return self._known.higher_is_better
        return by_answers

    def _is_best(self, value: float) -> bool:
        """Whether no reference is better: answers that lose to a sample are no optimum."""
        sign = 1.0 if self.higher_is_better else -1.0
        return all(sign * value >= sign * other for other in self.references.values())
