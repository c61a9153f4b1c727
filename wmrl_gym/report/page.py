"""Puts the parts of a report together and writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.outcomes import Status
from wmrl_gym.report import figures, tables
from wmrl_gym.report.packing import pack, pack_videos
from wmrl_gym.report.run_data import RunData

try:
    import jinja2
except ModuleNotFoundError as error:
    raise MissingDependencyError('reports need jinja2: pip install "wmrl-gym[report]"') from error


def write_report(runs: Sequence[RunData], file: Path) -> None:
    """Write the page of one run, or the comparison of several.

    Args:
        runs: What `read_run` gave, at least one. Episodes are listed for a single run.
        file: The HTML file; the directories above it are made.

    Raises:
        ValueError: If there is no run.
    """
    if not runs:
        raise ValueError("runs=[] is empty: give the directory of at least one run")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(runs), encoding="utf-8")


def render(runs: Sequence[RunData]) -> str:
    """Return the page as text."""
    single = runs[0] if len(runs) == 1 else None
    packed, artifacts = pack(single.episodes) if single and single.episodes else ("", 0)
    return _template().render(
        title=" and ".join(run.name for run in runs),
        runs=runs,
        curves=figures.score_curves(runs),
        over_time=figures.correction_over_time(runs),
        reliability=[(run.name, figures.reliability(run)) for run in runs],
        by_task=[(run.name, figures.predicted_against_true(run)) for run in runs],
        cost=tables.cost_rows(runs),
        scores=tables.score_rows(runs),
        settings=tables.setting_rows(runs),
        versions=tables.version_rows(runs),
        packed=packed,
        artifacts=artifacts,
        videos=pack_videos(single.episodes, single.path) if single else {},
        statuses={int(status): status.name.lower().replace("_", " ") for status in Status},
    )


def _template() -> jinja2.Template:
    text = files("wmrl_gym.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)
