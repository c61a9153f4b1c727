"""MLE-bench: a directory with data, and one with definitions, for each competition.

    <data>/<id>/prepared/public/     what agents see
                        /private/    answers
    <definitions>/<id>/config.yaml   names of files, of the metric and of its function
                      /grade.py, description.md, leaderboard.csv, further modules

Definitions lie in `mlebench/competitions` of a clone, data in the user's cache directory or
wherever `mlebench prepare --data-dir` put them. Either can be named, one task of it or all; the
other is looked for beside it, where the options or two environment variables say, and in the
usual places.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from wmrl_gym.envs.mle.importers import mle_bench_places as places
from wmrl_gym.envs.mle.importers.foreign import ForeignGrading
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.envs.mle.importers.known_metrics import known_metric
from wmrl_gym.envs.mle.importers.layouts import ImportOptions, Loader
from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.mle_bench_config import Config, read_config
from wmrl_gym.envs.mle.importers.public import PublicFiles
from wmrl_gym.envs.mle.importers.reading import read_text
from wmrl_gym.errors import TaskError

NAME = "mle-bench"
"""What users call this layout."""
_SAMPLES = ("sample_submission.csv", "sampleSubmission.csv", "sample_submission_null.csv")


def find(directory: Path, options: ImportOptions) -> Mapping[str, Loader] | str:
    """The competitions of a directory of data or of definitions, of one competition or of many."""
    data = places.data_within(directory)
    if data:
        return {found.name: partial(_load, found, None, options) for found in data}
    definitions = places.definitions_within(directory)
    if not definitions:
        return (
            "no prepared/public with prepared/private, no config.yaml, "
            "and no directory with either in it"
        )
    pairs = [(found, places.data_of(found, options)) for found in definitions]
    complete = {d.name: partial(_load, data, d, options) for d, data in pairs if data is not None}
    return complete or (
        f"{len(definitions)} definitions, but no data for them ({places.data_hint()})"
    )


def _load(data: Path, definition: Path | None, options: ImportOptions, name: str) -> ImportedTask:
    """Load a competition.

    Args:
        data: Directory with `prepared` in it.
        definition: Directory with its definition; `None` to look for it.
        options: What the user says.
        name: The name that the task is to have.

    Raises:
        TaskError: If there is no definition, or it or the data are broken.
    """
    definition = definition or places.definition_of(data, options)
    if definition is None:
        return _without_definition(data, options, name)
    config = read_config(definition, data)
    public = data / "prepared" / "public"
    return ImportedTask(
        name=name,
        title=config.title,
        layout=NAME,
        describe=partial(read_text, config.description, public / "description.md"),
        files=_files(public, config),
        grading=_grading(config, definition, options),
        metric=options.metric or config.metric,
        options=options,
        definitions=_code(definition),
        data=[data / "prepared"],
        boards=[definition / "leaderboard.csv"],
        origin=f"https://www.kaggle.com/c/{config.identifier}",
        licence="rules of the competition",
        tags=(config.kind,) if config.kind else (),
    )


def _code(definition: Path) -> list[Path]:
    """The files of a definition; data may lie beside them, and are not read for a version."""
    paths = sorted(definition.iterdir())
    return [p for p in paths if p.name not in ("prepared", "raw") and p.suffix != ".zip"]


def _files(public: Path, config: Config) -> PublicFiles:
    """The public directory; a configuration may have put files into it that are not to be seen."""
    secrets = {config.answers, *([config.gold] if config.gold else [])}
    return PublicFiles({"": public}, frozenset(secrets))


def _grading(config: Config, definition: Path, options: ImportOptions) -> ForeignGrading:
    return ForeignGrading(
        caller="mle-bench",
        rules={
            "competition": config.identifier,
            "definition": "../definition",
            "module": config.module,
            "function": config.function,
        },
        answers=config.answers,
        sample=config.sample,
        gold=config.gold,
        data={"definition": definition},
        wall_s=options.grading_s,
    )


def _without_definition(data: Path, options: ImportOptions, name: str) -> ImportedTask:
    """A competition of which only the data are there: graded by a metric of ours."""
    known = known_metric(options.metric or "")
    if known is None or not known.name:
        raise TaskError(
            f"{data} has no definition ({places.definition_hint(data.name)}); without one, a "
            f"metric has to be given that this library computes; metric={options.metric!r} is "
            "none of those"
        )
    public, private = data / "prepared" / "public", data / "prepared" / "private"
    answers = sorted(path for path in private.glob("*.csv") if path.name not in _SAMPLES)
    samples = [public / sample for sample in _SAMPLES if (public / sample).is_file()]
    if len(answers) != 1 or not samples:
        raise TaskError(
            f"{data} has no definition; without one, there have to be one answers file in "
            f"{private} and a sample submission in {public}"
        )
    refuse_pointer(answers[0])
    return ImportedTask(
        name=name,
        title=data.name,
        layout=NAME,
        describe=partial(read_text, public / "description.md"),
        files=PublicFiles({"": public}, frozenset(answers)),
        grading=ForeignGrading(
            caller="metric",
            rules={"metric": known.name},
            answers=answers[0],
            sample=samples[0],
            wall_s=options.grading_s,
        ),
        metric=known.name,
        options=options,
        definitions=[],
        data=[data / "prepared"],
        declared_direction=known.higher_is_better,
        origin=f"https://www.kaggle.com/c/{data.name}",
        licence="rules of the competition",
        remarks=("no definition, hence no leaderboard and no medals",),
    )
