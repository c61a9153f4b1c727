"""The validity of a model on episodes that it never saw, task by task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import FloatArray
from wmrl_gym.correction.quality import ReliabilityBin, calibration_error, reliability
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.dynamics.imagination import ImaginedRollout, replay
from wmrl_gym.world_models.dynamics.protocol import DynamicsModel
from wmrl_gym.world_models.dynamics.validity import Validity, skill_correlation
from wmrl_gym.world_models.progress.protocol import RewardModel

ERROR_STEPS = (8, 30, 60)
"""After how many imagined steps the state error is reported."""


@dataclass(frozen=True)
class TaskValidity:
    """How far a model's scores of one task can be trusted."""

    task: str
    validity: Validity
    skill_correlation: float
    """Over policies, of mean predicted and mean true success; NaN with fewer than 3."""
    calibration_error: float
    mean_predicted: float
    mean_true: float
    reliability: tuple[ReliabilityBin, ...]
    state_errors: dict[int, float]
    """By imagined steps: median over episodes of the root mean square distance to the real state,
    in units of each dimension's standard deviation; NaN where no episode is that long."""

    def passes(self, threshold: float) -> bool:
        """Whether the lower end of the interval reaches `threshold`."""
        return self.validity.lower >= threshold


def dynamics_report(
    model: DynamicsModel, episodes: Sequence[EpisodeRecord], *, confidence: float = 0.95
) -> list[TaskValidity]:
    """Replay the actions of `[N]` real episodes through `model`, and compare.

    Args:
        model: The model.
        episodes: Episodes that it did not learn from.
        confidence: Of the intervals.

    Raises:
        ValueError: If there are no episodes, or their sizes are not the model's.
    """
    starts = np.stack([episode.observations[0] for episode in _some(episodes)])
    rollout = replay(model, starts, [episode.actions for episode in episodes])
    errors = _state_errors(rollout, episodes)
    return _by_task(rollout.scores, episodes, errors, confidence)


def reward_report(
    model: RewardModel, episodes: Sequence[EpisodeRecord], *, confidence: float = 0.95
) -> list[TaskValidity]:
    """Let `model` score `[N]` real episodes, and compare; those it could not score are left out.

    Raises:
        ValueError: If there are no episodes, or none that it could score.
    """
    scores = model.score(_some(episodes))
    scored = [episode for episode, s in zip(episodes, scores, strict=True) if not np.isnan(s)]
    return _by_task(scores[~np.isnan(scores)], _some(scored), {}, confidence)


def write_report(directory: str | Path, tasks: Sequence[TaskValidity]) -> Path:
    """Write `validity.json`, with `null` for what is NaN, and return its path."""
    path = Path(directory) / "validity.json"
    described = [_without_nan(asdict(task)) for task in tasks]
    path.write_text(json.dumps({"tasks": described}, indent=2, allow_nan=False) + "\n")
    return path


def write_calibration_plot(path: str | Path, tasks: Sequence[TaskValidity]) -> None:
    """Write a plot of true over predicted success, one line for each task, as PNG.

    Raises:
        MissingDependencyError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            'plots need matplotlib: pip install "wmrl-gym[vla]"'
        ) from error
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot(
        xlabel="predicted success", ylabel="real success", xlim=(0, 1), ylim=(0, 1)
    )
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="calibrated")
    for task in tasks:
        rows = [row for row in task.reliability if row.count]
        label = f"{task.task or 'task'} ({task.validity.pairs} episodes)"
        axes.plot([r.predicted for r in rows], [r.true for r in rows], marker="o", label=label)
    axes.legend(loc="upper left", fontsize="small")
    figure.savefig(path, dpi=120, format="png")


def _by_task(
    scores: FloatArray,
    episodes: Sequence[EpisodeRecord],
    errors: dict[int, FloatArray],
    confidence: float,
) -> list[TaskValidity]:
    tasks = np.array([episode.task for episode in episodes])
    return [
        _task_validity(
            task,
            scores[tasks == task],
            [episode for episode in episodes if episode.task == task],
            {steps: _median(found[tasks == task]) for steps, found in errors.items()},
            confidence,
        )
        for task in np.unique(tasks).tolist()
    ]


def _task_validity(
    task: str,
    scores: FloatArray,
    episodes: Sequence[EpisodeRecord],
    errors: dict[int, float],
    confidence: float,
) -> TaskValidity:
    true = np.array([episode.success_once for episode in episodes], dtype=np.float64)
    table = reliability(scores, true)
    return TaskValidity(
        task=task,
        validity=Validity.of(scores, true, confidence),
        skill_correlation=skill_correlation(scores, true, [e.policy for e in episodes]),
        calibration_error=calibration_error(table),
        mean_predicted=float(scores.mean()),
        mean_true=float(true.mean()),
        reliability=table,
        state_errors=errors,
    )


def _state_errors(
    rollout: ImaginedRollout, episodes: Sequence[EpisodeRecord]
) -> dict[int, FloatArray]:
    """`[N]` errors after each number of steps; NaN where either episode was over by then."""
    spread = np.concatenate([episode.observations for episode in episodes]).std(axis=0)
    varying = spread > 1e-6
    errors = {steps: np.full(len(episodes), np.nan) for steps in ERROR_STEPS}
    for index, episode in enumerate(episodes):
        for steps in ERROR_STEPS:
            if steps <= min(episode.length, rollout.lengths[index]):
                imagined = rollout.observations[index, steps]
                distance = (imagined - episode.observations[steps])[varying] / spread[varying]
                errors[steps][index] = np.sqrt(np.mean(distance**2)) if varying.any() else 0.0
    return errors


def _median(values: npt.NDArray[np.float64]) -> float:
    found = values[~np.isnan(values)]
    return float(np.median(found)) if found.size else np.nan


def _some(episodes: Sequence[EpisodeRecord]) -> Sequence[EpisodeRecord]:
    if not episodes:
        raise ValueError("episodes=[]: there is nothing to compare with")
    return episodes


def _without_nan(value: Any) -> Any:
    """`value` as JSON can hold it: NaN becomes `None`, tuples lists, keys strings."""
    if isinstance(value, dict):
        return {str(key): _without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
