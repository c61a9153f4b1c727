"""Fitting a language world model to real outcomes, and what it was worth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from wmrl_gym.cli.collect import package_versions
from wmrl_gym.cli.progress import said_on_one_line
from wmrl_gym.cli.splits import GROUPS, TASKS, TRAIN, VALIDATION, SplitSettings, fewer, split
from wmrl_gym.correction.diagnostics import rank_correlations
from wmrl_gym.correction.quality import detection_auc, pair_accuracies
from wmrl_gym.interchange.json_values import to_json_value
from wmrl_gym.interchange.outcomes import OutcomeRecord, OutcomeSet, read_outcomes, shipped_outcomes
from wmrl_gym.outcomes import Status, WorldModel
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
from wmrl_gym.world_models.language.fitted import FittedModel, model_place
from wmrl_gym.world_models.language.lora import LoraBackend, LoraSettings, SymbolExample
from wmrl_gym.world_models.language.modes.expected import DIGITS, Scale, symbol_prompts

_MEASURED = (TRAIN, GROUPS, TASKS)
_FIGURES = {
    "rank_correlation": "rank correlation",
    "pair_accuracy": "pairs in order",
    "crash_auc": "crash AUC",
}
_BATCH = 64
Figures = Mapping[str, Mapping[str, float]]
"""Figures by part and name."""


@dataclass(frozen=True)
class LanguageFit:
    """What to fit; the fields are those of `wmrl-gym fit`."""

    out: Path
    source: Path | None = None
    model: str = "smollm2"
    method: Literal["head", "lora"] = "head"
    measured_groups: int = 12
    device: str = "auto"
    split: SplitSettings = field(default_factory=SplitSettings)
    lora: LoraSettings = field(default_factory=LoraSettings)


def fit_language_model(fit: LanguageFit) -> None:
    """Fit, measure before and after, print the table, and write the directory.

    Raises:
        ValueError: If the outcomes cannot be read or split, or the model cannot be loaded.
        MissingDependencyError: If a package that it needs is not installed.
    """
    outcomes = shipped_outcomes() if fit.source is None else read_outcomes(fit.source)
    parts = split(outcomes.records, fit.split)
    sizes = ", ".join(f"{len(records)} in {part}" for part, records in parts.items())
    print(f"Outcomes: {sizes}")
    fitter = _Lora(fit) if fit.method == "lora" else _Head(fit)
    with said_on_one_line() as progress:
        progress("predicting before the fit")
        before = _measured(fitter.model, parts, fit)
        progress("fitting")
        started = time.perf_counter()
        found = fitter.learn(parts, progress)
        seconds = time.perf_counter() - started
        progress("predicting after the fit")
        after = _measured(fitter.model, parts, fit)
    Console().print(_table(before, after))
    print(f"Fitted in {seconds:.0f} s: {fit.out}")
    provenance = {**_provenance(fit, outcomes, parts), **found, "seconds": round(seconds, 1)}
    figures = {"before": before, "after": after}
    fitted = FittedModel(
        fit.out, fit.model, fitter.model.mode, to_json_value({**provenance, "figures": figures})
    )
    fitted.write(fitter.tokenizer, fitter.adapted, fitter.model.state_dict())


class _Head:
    """Regressions on hidden states; nothing of the model itself changes."""

    adapted = None

    def __init__(self, fit: LanguageFit) -> None:
        backend = TransformersBackend(
            model_place(fit.model), device=fit.device, deadline_s=float("inf")
        )
        self.tokenizer = backend.tokenizer
        self.model = LanguageWorldModel(backend, mode="head")

    def learn(self, parts: Mapping[str, list[OutcomeRecord]], progress: Any) -> dict[str, Any]:
        # Nothing has to be stopped in time, so that all of it can be learned.
        records = [*parts[TRAIN], *parts[VALIDATION]]
        for cut in range(0, len(records), _BATCH):
            progress(f"learning from {len(records)} outcomes: {cut} done")
            _learn(self.model, records[cut : cut + _BATCH])
        return {}


class _Lora:
    """An adapter that is trained to give the right symbol."""

    def __init__(self, fit: LanguageFit) -> None:
        self._backend = LoraBackend(model_place(fit.model), DIGITS, fit.lora, device=fit.device)
        self._scale = Scale(self._backend, DIGITS, 0.0)
        self.tokenizer = self._backend.tokenizer
        self.adapted = self._backend.adapted
        self.model = LanguageWorldModel(self._backend, mode="expected")

    def learn(self, parts: Mapping[str, list[OutcomeRecord]], progress: Any) -> dict[str, Any]:
        train, validation = (self._examples(parts[part]) for part in (TRAIN, VALIDATION))
        curve = self._backend.train(train, validation, progress)
        _learn(self.model, parts[TRAIN])  # the durations
        return {"training": {**asdict(curve), "examples": len(train)}}

    def _examples(self, records: Sequence[OutcomeRecord]) -> list[SymbolExample]:
        """Those that the model would be asked about."""
        asked = [(self.model.question(record.execution), record.outcome) for record in records]
        questions = [question for question, _ in asked if question is not None]
        targets = [self._scale.target(outcome) for question, outcome in asked if question]
        prompts = symbol_prompts(self._scale, questions)
        return [SymbolExample(*pair) for pair in zip(prompts, targets, strict=True)]


def _learn(model: WorldModel, records: Sequence[OutcomeRecord]) -> None:
    model.learn([r.execution for r in records], [r.outcome for r in records])


def _measured(
    model: WorldModel, parts: Mapping[str, list[OutcomeRecord]], fit: LanguageFit
) -> dict[str, dict[str, float]]:
    chosen = {p: fewer(parts[p], fit.measured_groups, fit.split.split_seed) for p in _MEASURED}
    return {part: figures(model, records) for part, records in chosen.items()}


def figures(model: WorldModel, records: Sequence[OutcomeRecord]) -> dict[str, float]:
    """How well `model` predicts `records`, all with a score.

    Returns:
        `rank_correlation` and `pair_accuracy` within groups (means over groups), `crash_auc` of
        the probability that no valid result is left, the number of `outcomes`, and of those
        without a prediction (`unscored`). NaN for what cannot be measured.
    """
    predicted = []
    for cut in range(0, len(records), _BATCH):
        predicted += model.execute([r.execution for r in records[cut : cut + _BATCH]])
    pairs = [(r, p) for r, p in zip(records, predicted, strict=True) if p.score is not None]
    keys = {key: n for n, key in enumerate({(r.execution.task, r.group): 0 for r in records})}
    groups = np.array([keys[r.execution.task, r.group] for r, _ in pairs], dtype=np.int64)
    scores = np.array([[p.score, r.outcome.score] for r, p in pairs]).reshape(-1, 2)
    scores = scores.astype(np.float64)
    failed = np.array([r.outcome.status is not Status.COMPLETED for r, _ in pairs], dtype=bool)
    likely = [p.details.get("p_completed", float(p.status is Status.COMPLETED)) for _, p in pairs]
    ranked = scores[:, 0], scores[:, 1], groups
    return {
        "rank_correlation": _mean(rank_correlations(*ranked) if pairs else np.array([])),
        "pair_accuracy": _mean(pair_accuracies(*ranked) if pairs else np.array([])),
        "crash_auc": detection_auc(1.0 - np.array(likely), failed) if pairs else float("nan"),
        "outcomes": float(len(records)),
        "unscored": float(len(records) - len(pairs)),
    }


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _table(before: Figures, after: Figures) -> Table:
    whens = ("before", "after")
    table = Table("", *(f"{title}, {when}" for title in _FIGURES.values() for when in whens))
    for part in _MEASURED:
        cells = [_cell(told[part][name]) for name in _FIGURES for told in (before, after)]
        table.add_row(part, *cells)
    return table


def _cell(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"


def _provenance(
    fit: LanguageFit, outcomes: OutcomeSet, parts: Mapping[str, list[OutcomeRecord]]
) -> dict[str, Any]:
    tasks = {part: sorted({r.execution.task for r in own}) for part, own in parts.items()}
    return {
        "command": "wmrl-gym fit",
        "method": fit.method,
        "source": None if fit.source is None else fit.source.name,
        "source_provenance": outcomes.provenance,
        "outcomes": {part: len(own) for part, own in parts.items()},
        "tasks_learned": tasks[TRAIN],
        "tasks_held_out": tasks[TASKS],
        "groups_held_out": sorted({r.group for r in parts[GROUPS]}),
        "split": asdict(fit.split),
        **({"lora": asdict(fit.lora)} if fit.method == "lora" else {}),
        "versions": {
            **package_versions(),
            **{name: version(name) for name in ("torch", "transformers")},
        },
    }
