"""`wmrl-gym calibrate`: how good world models are, measured on real outcomes, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from wmrl_gym.benchmark.calibration import Calibration, CalibrationSettings, calibrate
from wmrl_gym.benchmark.folds import HELD_OUT, REGIMES, SEEN, fewer_groups
from wmrl_gym.benchmark.prediction_quality import Quality
from wmrl_gym.benchmark.statistics import Interval
from wmrl_gym.cli.collect import package_versions
from wmrl_gym.cli.progress import said_on_one_line
from wmrl_gym.interchange.json_values import to_json_value
from wmrl_gym.interchange.outcomes import OutcomeSet, read_outcomes, shipped_outcomes
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.training.directory import replace_file
from wmrl_gym.world_models.learned import LearnedWorldModel
from wmrl_gym.world_models.registry import make_world_model
from wmrl_gym.world_models.residual import ResidualWorldModel
from wmrl_gym.world_models.stacked import StackedWorldModel

SCHEMA = "wmrl-gym/calibration/1"
_TITLES = {SEEN: "New groups of seen tasks", HELD_OUT: "Held-out tasks"}
_ERRORS = ("calibration_error", "calibration_error_debiased")
_SHIPPED = "shipped with the package"


@dataclass(frozen=True)
class Calibrate:
    """Measure world models against real outcomes that they have not learned from."""

    source: Annotated[Path | None, tyro.conf.Positional] = None
    """File of `wmrl-gym collect`, directory of a run, or store of real outcomes; the outcomes that
    come with the package if not given."""
    world_models: tuple[str, ...] = ("constant", "surrogate")
    """Names of world models, as for training: "smollm2+expected", "package.module:factory"."""
    most_groups: int | None = None
    """Leave out whole tasks until at most so many groups are left: language models are slow."""
    predict_unseen: bool = True
    """Ask learned models about held-out tasks too, which they would leave to real executions."""
    json: Path | None = None
    """File for all numbers."""
    settings: Annotated[CalibrationSettings, tyro.conf.OmitArgPrefixes] = field(
        default_factory=CalibrationSettings
    )

    def __call__(self) -> None:
        """Measure and print the tables."""
        outcomes = shipped_outcomes() if self.source is None else read_outcomes(self.source)
        records = outcomes.records
        if self.most_groups is not None:
            records = tuple(fewer_groups(records, self.most_groups, seed=self.settings.seed))
        if self.json is not None and not self.json.parent.is_dir():
            raise ValueError(f"json={self.json}: there is no directory {self.json.parent}")
        models = self._models()
        try:
            with said_on_one_line() as progress:
                found = calibrate(
                    records,
                    models,
                    settings=self.settings,
                    bounds=outcomes.bounds,
                    progress=progress,
                )
        finally:
            for model in models.values():
                model.close()
        self._report(found, outcomes)

    def _models(self) -> dict[str, WorldModel]:
        """All of them, so that a wrong name is found before an hour of predicting."""
        if not self.world_models:
            raise ValueError("world_models: name at least one")
        models = {name: make_world_model(name) for name in self.world_models}
        if self.predict_unseen:
            for model in models.values():
                _ask_about_unseen(model)
        return models

    def _report(self, found: Calibration, outcomes: OutcomeSet) -> None:
        console = Console()
        counts = found.outcomes
        console.print(
            f"{counts['pairs']} outcomes in {counts['groups']} groups of {counts['tasks']} tasks"
        )
        for regime in REGIMES:
            if any(regime in model.qualities for model in found.models.values()):
                console.print(_headline(found, regime), _by_task(found, regime))
        for note in [*_left_out(outcomes, counts), *found.notes]:
            console.print(f"Note: {note}.")
        if self.json is not None:
            content = json.dumps(self._numbers(found, outcomes), indent=1)
            replace_file(self.json, (content + "\n").encode())

    def _numbers(self, found: Calibration, outcomes: OutcomeSet) -> Any:
        source = _SHIPPED if self.source is None else self.source.name
        return to_json_value(
            {
                "schema": SCHEMA,
                "source": {"name": source, "provenance": outcomes.provenance},
                "incomplete_lines": outcomes.incomplete,
                "outcomes": found.outcomes,
                "settings": {
                    **asdict(self.settings),
                    "most_groups": self.most_groups,
                    "predict_unseen": self.predict_unseen,
                },
                "versions": package_versions(),
                "notes": found.notes,
                "world_models": {
                    name: {
                        "seconds_per_prediction": model.seconds_per_prediction,
                        "seconds_to_learn": model.seconds_to_learn,
                        **{regime: _quality(of) for regime, of in model.qualities.items()},
                    }
                    for name, model in found.models.items()
                },
            }
        )


def _ask_about_unseen(model: WorldModel) -> None:
    """Make a learned model, or those that it is made of, predict tasks that it has not seen."""
    match model:
        case LearnedWorldModel():
            model.min_outcomes_per_task = 0
        case StackedWorldModel():
            for part in (model.top, *model.members):
                _ask_about_unseen(part)
        case ResidualWorldModel():
            _ask_about_unseen(model.base)


def _quality(quality: Quality) -> dict[str, Any]:
    return {
        "figures": {name: figure._asdict() for name, figure in quality.figures.items()},
        "counts": {**quality.counts, "unscored_share": quality.unscored_share},
        "tasks": quality.tasks,
        "diagrams": {
            name: [asdict(part) for part in parts] for name, parts in quality.diagrams.items()
        },
    }


def _left_out(outcomes: OutcomeSet, counts: Mapping[str, int]) -> list[str]:
    notes = []
    if outcomes.incomplete:
        lines = ", ".join(map(str, outcomes.incomplete))
        notes.append(f"incomplete lines were left out: {lines}")
    if counts["without_score"]:
        notes.append(
            f"{counts['without_score']} outcomes without a score were left out: their execution "
            "failed through no fault of the artifact"
        )
    return notes


def _headline(found: Calibration, regime: str) -> Table:
    table = Table(
        "world model",
        "rank corr.",
        "pair acc.",
        "AUC",
        "MSE",
        "debiased",
        "ECE",
        "debiased",
        "no score",
        "s each",
        title=f"{_TITLES[regime]} (mean, 95 % interval over groups)",
    )
    for name, model in found.models.items():
        quality = model.qualities[regime]
        figures = quality.figures
        table.add_row(
            name,
            *(_cell(figures[f], 2) for f in ("rank_correlation", "pair_accuracy")),
            _cell(figures["completion_auc"], 2),
            *(_cell(figures[f], 3) for f in ("squared_error", "squared_error_debiased")),
            # Its resamples lie above it: noise moves a diagram off its diagonal, never onto it.
            *(_number(figures[f].estimate, 3) for f in _ERRORS),
            f"{quality.unscored_share:.0%}",
            f"{model.seconds_per_prediction:.2g}",
        )
    counts = [model.qualities[regime].counts for model in found.models.values()]
    table.caption = _caption(max(counts, key=lambda count: count["groups"]))
    return table


def _caption(counts: Mapping[str, int]) -> str:
    outside = counts["groups_of_one"] + counts["groups_without_spread"]
    return (
        f"Rank correlation and pair accuracy within {counts['groups'] - outside} groups; "
        f"{counts['groups_without_spread']} whose true scores are all equal and "
        f"{counts['groups_of_one']} of one member say nothing about order. AUC of the probability "
        "of a valid result. Squared and calibration error (ECE) of the score, before and after "
        "debiasing by a map that was fitted to others."
    )


def _by_task(found: Calibration, regime: str) -> Table:
    table = Table("task", *found.models, title=f"{_TITLES[regime]}: rank correlation by task")
    by_model = [model.qualities[regime].tasks for model in found.models.values()]
    for task in sorted({task for tasks in by_model for task in tasks}):
        values = [tasks.get(task, {}).get("rank_correlation") for tasks in by_model]
        table.add_row(task, *(_number(value, 2) for value in values))
    return table


def _cell(figure: Interval, digits: int) -> str:
    if figure.estimate != figure.estimate:
        return "-"
    low, high = _number(figure.low, digits), _number(figure.high, digits)
    return f"{figure.estimate:.{digits}f}\n[{low}, {high}]"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None or value != value else f"{value:.{digits}f}"
