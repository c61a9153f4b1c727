"""Where metrics of a run may go besides its directory: TensorBoard, Weights & Biases, trackio."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from wmrl_gym.errors import MissingDependencyError

PROJECT = "wmrl-gym"
"""The project under which trackers that have projects file a run."""

Metrics = Mapping[str, float]
Log = Callable[[Metrics, int], None]


@contextmanager
def open_trackers(names: Sequence[str], *, run: Path, config: Mapping[str, Any]) -> Iterator[Log]:
    """Open trackers, and give one call that logs to all of them.

    Args:
        names: Any of `tensorboard`, `wandb`, `trackio`.
        run: Directory of the run; its name is that of the tracked run, which goes on when the run
            is resumed.
        config: Arguments of the run.

    Yields:
        `log(metrics, step)`; metrics that are not finite are left out, since not every tracker
        knows what to do with them.

    Raises:
        ValueError: If a name is unknown.
        MissingDependencyError: If a tracker is not installed.

    Examples:
        >>> with open_trackers([], run=Path("runs/first"), config={}) as log:
        ...     log({"score": 0.5}, 8)
    """
    unknown = sorted(set(names) - set(_TRACKERS))
    if unknown:
        raise ValueError(f"track={unknown} is unknown: choose from {list(_TRACKERS)}")
    with ExitStack() as stack:
        logs = [stack.enter_context(_TRACKERS[name](run, config)) for name in names]

        def log(metrics: Metrics, step: int) -> None:
            finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
            for log_to in logs:
                log_to(finite, step)

        yield log


@contextmanager
def _tensorboard(run: Path, config: Mapping[str, Any]) -> Iterator[Log]:
    writer = _imported("torch.utils.tensorboard", "tensorboard").SummaryWriter(
        str(run / "tensorboard")
    )
    writer.add_text("config", "\n".join(f"    {name} = {value}" for name, value in config.items()))

    def log(metrics: Metrics, step: int) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    try:
        yield log
    finally:
        writer.close()


@contextmanager
def _wandb(run: Path, config: Mapping[str, Any]) -> Iterator[Log]:
    name = hashlib.sha256(str(run.resolve()).encode()).hexdigest()[:16]
    tracked = _imported("wandb", "wandb").init(
        project=PROJECT,
        name=run.name,
        id=name,
        resume="allow",
        dir=str(run),
        config=dict(config),
    )
    try:
        yield lambda metrics, step: tracked.log(dict(metrics), step=step)
    finally:
        tracked.finish()


@contextmanager
def _trackio(run: Path, config: Mapping[str, Any]) -> Iterator[Log]:
    tracked = _imported("trackio", "trackio").init(
        project=PROJECT, name=run.name, resume="allow", config=dict(config), embed=False
    )
    try:
        yield lambda metrics, step: tracked.log(dict(metrics), step=step)
    finally:
        tracked.finish()


_TRACKERS: Mapping[str, Any] = {"tensorboard": _tensorboard, "wandb": _wandb, "trackio": _trackio}


def _imported(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'track={package!r} needs {package}: pip install "wmrl-gym[track]"'
        ) from error
