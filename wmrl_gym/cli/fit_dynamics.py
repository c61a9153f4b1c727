"""`wmrl-gym fit --kind dynamics|progress`: models of recorded episodes, and how valid they are."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from wmrl_gym.cli.variants import value_of
from wmrl_gym.episodes import EpisodeRecord, load_episodes
from wmrl_gym.errors import MissingDependencyError, RunError
from wmrl_gym.interchange.minari import read_minari

if TYPE_CHECKING:
    from wmrl_gym.world_models.dynamics.report import TaskValidity

_KINDS = ("dynamics", "progress")


@dataclass(frozen=True)
class FitEpisodes:
    """Fit a world model to recorded episodes, and measure it on some that are held out.

    The result is a directory: `model.pt` is what `WorldModelRewardWrapper(world_model=PATH)` takes
    (dynamics) or `ProgressModel.load` reads (progress), `validity.json` how far it can be trusted.
    """

    episodes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files or directories of `wmrl-gym collect` (.npz), or names of local Minari datasets."""
    out: Path
    """New directory of the fitted model."""
    kind: Literal["dynamics", "progress"]
    """"dynamics" imagines steps of an environment of states; "progress" scores real rollouts."""
    source: Literal["states", "frames"] = "states"
    """What a progress model sees."""
    held_out: float = 0.25
    """Share of the episodes of each task and policy that only measure the model."""
    confidence: float = 0.95
    """Of the intervals."""
    threshold: float = 0.7
    """Least lower end of the interval of the AUC with which a task counts as valid."""
    updates: int = 1000
    """Most gradient steps."""
    hidden: int = 128
    """Width of the hidden layers."""
    members: int = 5
    """Members of the ensemble of a dynamics model."""
    device: str = "cpu"
    """Where torch computes, for instance cuda."""
    seed: int = 0
    """Seed of the split, the weights and the order of the data."""

    def __call__(self) -> None:
        """Fit, measure, print the table and write the directory."""
        if self.out.exists():
            raise RunError(f"out={self.out} exists: choose another name")
        if not 0.0 < self.held_out < 1.0:
            raise ValueError(f"held_out={self.held_out} must lie between 0 and 1")
        training, measured = split(_read(self.episodes), self.held_out, self.seed)
        model, found = self._fit(training, measured)
        self.out.mkdir(parents=True)
        model.save(self.out / "model.pt")
        self._write(found, len(training), len(measured))
        Console().print(_table(found, self.threshold))

    def _fit(
        self, training: Sequence[EpisodeRecord], measured: Sequence[EpisodeRecord]
    ) -> tuple[Any, list[TaskValidity]]:
        from wmrl_gym.world_models.dynamics import EnsembleDynamics
        from wmrl_gym.world_models.dynamics.report import dynamics_report, reward_report
        from wmrl_gym.world_models.progress import ProgressModel

        common: dict[str, Any] = {
            "hidden": self.hidden,
            "updates": self.updates,
            "device": self.device,
            "seed": self.seed,
        }
        size = training[0].observations.shape[1]
        if self.kind == "dynamics":
            actions = training[0].actions.shape[1]
            imagining = EnsembleDynamics(size, actions, members=self.members, **common)
            imagining.fit(training)
            return imagining, dynamics_report(imagining, measured, confidence=self.confidence)
        state_size = size if self.source == "states" else None
        scoring = ProgressModel(self.source, state_size=state_size, **common).fit(training)
        return scoring, reward_report(scoring, measured, confidence=self.confidence)

    def _write(self, found: Sequence[TaskValidity], training: int, measured: int) -> None:
        from wmrl_gym.world_models.dynamics.report import write_calibration_plot, write_report

        write_report(self.out, found)
        settings = {**asdict(self), "out": str(self.out)}
        packages = ("wmrl-gym", "numpy", "torch")
        described = {
            "command": "wmrl-gym fit",
            **settings,
            "training_episodes": training,
            "held_out_episodes": measured,
            "versions": {name: version(name) for name in packages},
        }
        (self.out / "settings.json").write_text(json.dumps(described, indent=2) + "\n")
        try:
            write_calibration_plot(self.out / "calibration.png", found)
        except MissingDependencyError as missing:
            Console(stderr=True).print(f"no plot: {missing}", markup=False)


def split(
    episodes: Sequence[EpisodeRecord], share: float, seed: int
) -> tuple[list[EpisodeRecord], list[EpisodeRecord]]:
    """Hold out a share of the episodes of each task and policy, but never all of them.

    Returns:
        The episodes to train on, and those held out; both in the order given.

    Raises:
        ValueError: If nothing is left for either part.
    """
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, episode in enumerate(episodes):
        alike[episode.task, episode.policy].append(index)
    rng = np.random.default_rng(seed)
    held: set[int] = set()
    for indices in alike.values():
        count = min(round(share * len(indices)), len(indices) - 1)
        held.update(rng.permutation(indices)[:count].tolist())
    if not held:
        raise ValueError(
            f"held_out={share} of {len(episodes)} episodes leaves none to measure on: record more"
        )
    training = [episode for index, episode in enumerate(episodes) if index not in held]
    return training, [episodes[index] for index in sorted(held)]


def asks_for_episodes(arguments: Sequence[str]) -> bool:
    """Whether `--kind` names a model of recorded episodes."""
    return value_of("kind", arguments) in _KINDS


def _read(sources: Sequence[str]) -> list[EpisodeRecord]:
    if not sources:
        raise ValueError("episodes: name a file, a directory, or a Minari dataset")
    return [episode for source in sources for episode in _read_one(source)]


def _read_one(source: str) -> list[EpisodeRecord]:
    path = Path(source)
    if path.exists() and not (path / "data").is_dir():
        return load_episodes(path)
    return read_minari(source)


def _table(found: Sequence[TaskValidity], threshold: float) -> Table:
    table = Table(
        "task", "episodes", "AUC", "skill corr.", "predicted", "true", "calib. error", "valid",
        title="On held-out episodes",
    )  # fmt: skip
    for task in found:
        validity = task.validity
        table.add_row(
            task.task or "(unnamed)",
            f"{validity.pairs}",
            f"{validity.auc:.3f} [{validity.lower:.3f}, {validity.upper:.3f}]",
            "" if np.isnan(task.skill_correlation) else f"{task.skill_correlation:.2f}",
            f"{task.mean_predicted:.3f}",
            f"{task.mean_true:.3f}",
            f"{task.calibration_error:.3f}",
            "yes" if task.passes(threshold) else "no",
        )
    return table
